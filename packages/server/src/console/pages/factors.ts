import {
	addFactor,
	confirmFactor,
	type FactorNeeds,
	listFactors,
	removeFactor,
	renewRecoveryCodes,
} from "../../factors/factors.ts";
import { AskedAgain, ConfirmFactor, type Factor } from "../../factors/model.ts";
import { check } from "../../http/input.ts";
import { command } from "../command.ts";
import { type Address, address, type Html, html, targetOf } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { keepOnce, ONCE_SECONDS, onceBox, takeOnce } from "./once.ts";
import { table, time } from "./parts.ts";

/** Dependencies of the page of second factors. */
export type FactorPageNeeds = FactorNeeds;

const PATH = /^\/console\/account\/factors$/;
const HOME = address`/console/account/factors`;
/** The page that shows a new secret, and the one that shows new recovery codes. */
const SECRET = address`/console/account/factors?shown=secret`;
const CODES = address`/console/account/factors?shown=codes`;

/** The caller's second factors: how to add, confirm and remove one, and how to make recovery codes. */
export function factorsPage(needs: FactorPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => factors(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => change(needs, visit) },
	];
}

async function factors(needs: FactorPageNeeds, visit: Visit): Promise<Page> {
	const { factors: rows, recovery_codes_left } = await listFactors(needs, visit.actor);
	const isAsked = rows.some(({ confirmed_at }) => confirmed_at !== null);
	const list =
		rows.length === 0
			? html`<p>Your login asks for the password alone.</p>`
			: table(
					"What your login asks for in addition to the password",
					["Kind", "Added", "State", "Change"],
					rows.map((row) => line(row, isAsked, visit.token)),
				);
	const codes = isAsked ? recovery(recovery_codes_left, visit.token) : "";
	const shown = shownOnce(needs, visit);
	return {
		title: "Second factor",
		...(shown === undefined ? {} : { refresh: ONCE_SECONDS }),
		above: [
			["Realms", address`/console`],
			["Your account", address`/console/account`],
		],
		body: html`${shown ?? ""}${list}${codes}<h2>Add an authenticator app</h2><p>Your login then asks for a code of the app. API tokens, and sign-ins at a provider, are not asked.</p>
<form method="post" action="/console/account/factors">${visit.token}<input type="hidden" name="action" value="add">${proof("add", isAsked)}<p><button>Make a secret</button></p></form>`,
		commands: [command`svc factor list`, command`svc factor add`, command`svc factor recovery`],
	};
}

function shownOnce({ system }: FactorPageNeeds, visit: Visit): Html | undefined {
	const secret = takeOnce(visit, system, targetOf(SECRET));
	if (secret !== undefined)
		return onceBox(
			"Secret for the app",
			secret,
			"Type the secret into the app, or open the link with it. Then confirm it below with the first code.",
		);
	const codes = takeOnce(visit, system, targetOf(CODES));
	if (codes === undefined) return undefined;
	return onceBox("Recovery codes", codes, "Each lets you in once without the app. Keep them where the app is not.");
}

function line({ id, created_at, confirmed_at }: Factor, isAsked: boolean, token: Html): Html {
	const form = confirmed_at === null ? confirming(id, token) : removing(id, isAsked, token);
	const state = confirmed_at === null ? html`<span class="warn">to be confirmed</span>` : "asked for";
	return html`<tr><th scope="row">Authenticator app</th><td data-label="Added">${time(created_at)}</td><td data-label="State">${state}</td><td>${form}</td></tr>`;
}

const codeField = (id: string, label: string): Html =>
	html`<label for="code-${id}">${label}</label><input id="code-${id}" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" autocapitalize="off" required>`;

/** Fields with the proof that a change asks for. */
function proof(id: string, isAsked: boolean): Html {
	const code = isAsked ? codeField(id, "Code of your app, or a recovery code") : "";
	return html`<label for="password-${id}">Password of your account</label><input id="password-${id}" name="current_password" type="password" autocomplete="current-password" required>${code}`;
}

function confirming(id: string, token: Html): Html {
	return html`<form method="post" action="/console/account/factors">${token}<input type="hidden" name="action" value="confirm"><input type="hidden" name="id" value="${id}">${codeField(id, "First code of the app")}<p><button>Confirm</button></p></form>`;
}

function removing(id: string, isAsked: boolean, token: Html): Html {
	return html`<details><summary>Remove</summary><form method="post" action="/console/account/factors">${token}<input type="hidden" name="action" value="remove"><input type="hidden" name="id" value="${id}">${proof(id, isAsked)}<p><button>Remove the app</button></p></form></details>`;
}

function recovery(left: number, token: Html): Html {
	return html`<h2>Recovery codes</h2><p>Left: ${left}. Each lets you in once without the app; new ones replace them.</p>
<form method="post" action="/console/account/factors">${token}<input type="hidden" name="action" value="renew">${proof("renew", true)}<p><button>Make new recovery codes</button></p></form>`;
}

async function change(needs: FactorPageNeeds, visit: Visit): Promise<Moved> {
	const { actor, form } = visit;
	const asked = () =>
		check(AskedAgain, { current_password: form.current_password || undefined, code: form.code || undefined });
	switch (form.action) {
		case "add": {
			const { secret, url } = await addFactor(needs, actor, { type: "totp", ...asked() });
			return once(needs, visit, SECRET, `${secret}\n${url}`, "Confirm the app with its first code.");
		}
		case "confirm": {
			const { code } = check(ConfirmFactor, { code: form.code });
			const { recovery_codes } = await confirmFactor(needs, actor, fieldOf(visit, "id"), code);
			const message = "Confirmed: your login asks for a code now, and your other sessions have ended.";
			return recovery_codes.length === 0
				? { to: HOME, message }
				: once(needs, visit, CODES, recovery_codes.join("\n"), message);
		}
		case "renew": {
			const { recovery_codes } = await renewRecoveryCodes(needs, actor, asked());
			const message = "New recovery codes are made; the earlier ones no longer work.";
			return once(needs, visit, CODES, recovery_codes.join("\n"), message);
		}
		default:
			await removeFactor(needs, actor, fieldOf(visit, "id"), asked());
			return { to: HOME, message: "The app is removed." };
	}
}

function once({ system }: FactorPageNeeds, { notes }: Visit, to: Address, text: string, message: string): Moved {
	keepOnce(notes, system, targetOf(to), text);
	return { to, message };
}
