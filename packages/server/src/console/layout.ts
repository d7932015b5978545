import { hash } from "node:crypto";
import { readAsset } from "../asset.ts";
import { type Command, lineOf } from "./command.ts";
import { address, constant, type Html, html, targetOf, textOf } from "./html.ts";
import type { Link, Page } from "./page.ts";

/** Parts of a page that come from the session. */
export interface Frame {
	/** E-mail of the person who is signed in. */
	email: string | undefined;
	/** Hidden field of the form that signs out. */
	token: Html;
	/** Outcome of the last change. */
	message: string | undefined;
	/** Refusal of the last change. */
	problem?: string | undefined;
}

/** The script, and its own address: another script has another one. */
interface Script {
	path: string;
	bytes: Buffer;
}

/** Layout of all pages, with the policy that admits their stylesheet and script alone. */
export interface Layout {
	script: Script;
	headers: Record<string, string>;
	render(frame: Frame, page: Page): string;
}

const sha256 = (bytes: Buffer) => `sha256-${hash("sha256", bytes, "base64")}`;

/** Reads stylesheet and script. Both are admitted by the hash of the very bytes that are sent. */
export function createLayout(): Layout {
	const style = Buffer.concat([
		readAsset(new URL("./console.css", import.meta.url)),
		readAsset(new URL("./charts.css", import.meta.url)),
		readAsset(new URL("./screens.css", import.meta.url)),
	]);
	const bytes = readAsset(new URL("./console.js", import.meta.url));
	const path = `/console/${hash("sha256", bytes, "hex").slice(0, 16)}.js`;
	const head = constant(
		`<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><style>${style}</style>` +
			`<script src="${path}" integrity="${sha256(bytes)}" defer></script>`,
	);
	return { script: { path, bytes }, headers: headersFor(sha256(style), sha256(bytes)), render: renderer(head) };
}

const NOTHING = ["base-uri", "frame-ancestors", "trusted-types"].map((kind) => `${kind} 'none'`);
const OFF = ["camera", "microphone", "geolocation", "payment", "usb"].map((one) => `${one}=()`);

function headersFor(style: string, script: string): Record<string, string> {
	const policy = ["default-src 'none'", `style-src '${style}'`, `script-src '${script}'`, "form-action 'self'"];
	return {
		"content-type": "text/html; charset=utf-8",
		"content-security-policy": [...policy, ...NOTHING, "require-trusted-types-for 'script'"].join("; "),
		"referrer-policy": "same-origin",
		"cross-origin-opener-policy": "same-origin",
		"cross-origin-resource-policy": "same-origin",
		"permissions-policy": ["clipboard-write=(self)", ...OFF].join(", "),
		"x-frame-options": "DENY",
	};
}

function renderer(head: Html): Layout["render"] {
	const doctype = constant("<!doctype html>");
	return (frame, page) =>
		textOf(html`${doctype}<html lang="en"><head><title>${page.title} · svc</title>${head}</head><body>
<a class="skip" href="#main">Skip to the page</a>
<header><a href="/console"><strong>svc</strong></a>${frame.email === undefined ? "" : MENU}${person(frame)}</header>
${above(page.above ?? [])}${page.tabs === undefined ? "" : tabs(page.tabs)}
<div role="status">${frame.message === undefined ? "" : html`<p class="notice">${frame.message}</p>`}</div>
<main id="main" tabindex="-1"><h1>${page.title}</h1>
${frame.problem === undefined ? "" : html`<p class="error" role="alert">${frame.problem}</p>`}${page.body}</main>
${terminal(page.commands ?? [])}</body></html>
`);
}

/** Parts of the console, on every page of somebody who is signed in. */
const PARTS: readonly Link[] = [
	["Realms", address`/console`],
	["Server", address`/console/health`],
];

const ACCOUNT = address`/console/account`;

const listed = (links: readonly Link[]): Html[] =>
	links.map(([label, to]) => html`<li><a href="${to}">${label}</a></li>`);

const MENU = html`<nav aria-label="Console"><ul>${listed(PARTS)}</ul></nav>`;

/** Leads to the pages above this one, except for those of the menu. */
function above(links: readonly Link[]): Html | string {
	const others = links.filter(
		([, to]) => ![ACCOUNT, ...PARTS.map(([, part]) => part)].some((one) => targetOf(one) === targetOf(to)),
	);
	return others.length === 0 ? "" : html`<nav aria-label="Above"><ul>${listed(others)}</ul></nav>`;
}

function person({ email, token }: Frame): Html | string {
	if (email === undefined) return "";
	return html`<a class="who" href="${ACCOUNT}">Your account <span class="quiet">${email}</span></a><form method="post" action="${address`/console/sign-out`}">${token}<button>Sign out</button></form>`;
}

function tabs({ name, current, links }: NonNullable<Page["tabs"]>): Html {
	const items = links.map(([label, to]) =>
		label === current
			? html`<li><a href="${to}" aria-current="page">${label}</a></li>`
			: html`<li><a href="${to}">${label}</a></li>`,
	);
	return html`<nav class="tabs" aria-label="${name}"><ul>${items}</ul></nav>`;
}

function terminal(commands: readonly Command[]): Html | string {
	if (commands.length === 0) return "";
	return html`<footer><p>The same in a terminal. <code>svc</code> is the program that runs this server: copied to your machine, it is also its command, once you sign in there with <code>svc login</code>.</p>${commands.map((one) => html`<pre>${lineOf(one)}</pre>`)}</footer>`;
}
