import { AppError } from "../../errors.ts";
import { check } from "../../http/input.ts";
import { type Names, nameIn, namesOf } from "../../names.ts";
import { Rollback, SetSecret, type VersionInfo } from "../../secrets/model.ts";
import { getSecret, listVersions, rollbackSecret, type SecretName, setSecret } from "../../secrets/secrets.ts";
import { type Command, command, joined } from "../command.ts";
import { type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { goneDraft } from "../settings-form.ts";
import { time } from "./components.ts";
import { askAgain } from "./confirm.ts";
import { readsSection } from "./reads-section.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { type Conflict, conflictBox } from "./secret-conflict.ts";
import { expiryField, expiryIn, expiryOf, expirySection } from "./secret-expiry.ts";
import { versionTable } from "./secret-history.ts";
import { nameOf, pageOf, type SecretNeeds } from "./secret-name.ts";
import { COLUMNS } from "./secrets.ts";

/** Seconds for which a value is shown. */
const SHOWN_SECONDS = 30;
/** Milliseconds within which the page after "Reveal" must be asked for. */
const REVEAL_MS = 30_000;
/** Versions that are kept, and shown. */
const KEPT = 20;

const PATH = /^\/console\/realms\/([^/]+)\/secrets\/([^/]+)$/;

/** The page of one secret in one environment: its value on request, its history, and what changes it. */
export function secretPage(needs: SecretNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => secret(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => act(needs, visit) },
		{ method: "GET", path: /^\/console\/realms\/([^/]+)\/secret$/, answer: async (visit) => forward(visit) },
	];
}

/** Leads to the page of the key that a form named. */
function forward({ params: [slug = ""], query }: Visit): Moved {
	return { to: pageOf(nameOf({ params: [slug, query.key ?? ""], query })) };
}

async function secret(needs: SecretNeeds, visit: Visit, refused?: Conflict): Promise<Page> {
	const { actor, token, notes } = visit;
	const name = nameOf(visit);
	const conflict = refused ?? remembered(visit, name);
	const may = await mayIn(needs, actor, name.slug);
	const versions = await history(needs, visit, name);
	const value = versions.length === 0 ? undefined : await revealed(needs, visit, name);
	if (value !== undefined) notes.hasShown = true;
	const people = await namesOf(
		needs,
		versions.map(({ created_by }) => created_by),
	);
	const { slug, key, environment } = name;
	const [current] = versions;
	return {
		...inRealm(slug, "Secrets", may),
		title: `${key} in ${environment}`,
		...(value === undefined ? {} : { refresh: SHOWN_SECONDS }),
		...(refused === undefined ? {} : { status: 409 }),
		body: html`${switchTo(name)}${conflict === undefined ? "" : conflictBox(name, token, current, people, conflict)}${current === undefined ? html`<p>${key} is not set in ${environment}.</p>` : box(name, token, value, lastWritten(needs, current, people))}
${may("secrets:write") ? writing(needs, name, token, current) : ""}${current === undefined ? "" : html`${expirySection(needs, name, current, may("secrets:write") ? token : undefined)}${await readsSection(needs, actor, name)}${versionTable(needs, name, versions, people, may("secrets:write") ? token : undefined)}${may("secrets:delete") ? deleting(name) : ""}`}`,
		commands: [
			command`svc secret get ${key} --realm ${slug} --env ${environment}`,
			...(may("secrets:write") ? writingCommands(name) : []),
			command`svc secret history ${key} --realm ${slug} --env ${environment}`,
		],
	};
}

function writingCommands({ slug, key, environment }: SecretName): Command[] {
	const set = command`svc secret set ${key} --realm ${slug} --env ${environment}`;
	return [set, joined(set, command`--expires-at 2030-01-31T00:00:00Z`)];
}

/** Finds the write of this secret that was refused a moment ago, and is remembered. */
function remembered({ draft }: Visit, name: SecretName): Conflict | undefined {
	const kept = draft.kept(idOf(name));
	return kept && { comment: kept.comment ?? "", expires: kept.expires_at ?? "", isKept: true };
}

/** Reads the kept versions; none where the key is not set. */
async function history(needs: SecretNeeds, { actor }: Visit, name: SecretName): Promise<VersionInfo[]> {
	try {
		return (await listVersions(needs, actor, name, { limit: KEPT })).rows;
	} catch (error) {
		if (error instanceof AppError && error.code === "not_found") return [];
		throw error;
	}
}

/** A value that was asked for, to be shown or only to be copied. */
interface Asked {
	value: string;
	isToCopy: boolean;
}

/** Reads the value if "Reveal" was pressed on this page just before; a second request shows nothing. The rule logs it first. */
async function revealed(needs: SecretNeeds, { actor, notes }: Visit, name: SecretName): Promise<Asked | undefined> {
	const { reveal } = notes;
	notes.reveal = undefined;
	if (reveal === undefined || reveal.target !== idOf(name) || reveal.until < needs.system.now().getTime())
		return undefined;
	return { value: (await getSecret(needs, actor, name, "console")).value, isToCopy: reveal.isToCopy };
}

const idOf = ({ slug, environment, key }: SecretName) => `${slug} ${environment} ${key}`;

function switchTo({ slug, key, environment }: SecretName): Html {
	const links = COLUMNS.map((one) => {
		const to = pageOf({ slug, key, environment: one });
		return one === environment
			? html`<li><a href="${to}" aria-current="page">${one}</a></li>`
			: html`<li><a href="${to}">${one}</a></li>`;
	});
	return html`<nav class="tabs" aria-label="Environments"><ul>${links}</ul></nav>`;
}

/** Needs the script, which shows the button. */
const COPYING = html`<button name="copy" value="yes" data-scripted="" hidden>Copy without showing</button>`;

/** Shows the author and the time of the current version. */
function lastWritten({ system }: SecretNeeds, newest: VersionInfo, people: ReadonlyMap<string, Names>): Html {
	const { version, created_at, created_by, comment, expires_at } = newest;
	const ending = expires_at === null ? "" : html`<p>Expires: ${expiryOf(newest, system.now().toISOString())}</p>`;
	return html`<p>Version ${version}, written ${time(created_at)} by ${nameIn(people, created_by)}${comment === "" ? "" : `: ${comment}`}</p>${ending}`;
}

function box(name: SecretName, token: Html, asked: Asked | undefined, about: Html): Html {
	const reveal = (label: string, other: Html | string = "") =>
		html`<form method="post" action="${pageOf(name)}">${token}<input type="hidden" name="action" value="reveal"><button>${label}</button> ${other}</form>`;
	if (asked === undefined) {
		return html`<section class="box" aria-labelledby="value"><h2 id="value">Value</h2>${about}<p class="quiet">Hidden. Showing or copying it is recorded in the audit log.</p>${reveal("Reveal", COPYING)}</section>`;
	}
	const { value, isToCopy } = asked;
	const note = /[\0\r]/.test(value)
		? html`<p class="warn">The value has characters that a page cannot show: read it with <code>svc secret get</code>.</p>`
		: "";
	if (isToCopy)
		return html`<section class="box" aria-labelledby="value"><h2 id="value">Value</h2>${about}
<pre data-value="${SHOWN_SECONDS}" data-copied="" translate="no" hidden>
${value}</pre><p class="quiet">Not shown. You can copy it for ${SHOWN_SECONDS} seconds.</p>${note}<div class="row"><button type="button" data-copy="" hidden>Copy</button>${reveal("Reveal")}</div></section>`;
	return html`<section class="box" aria-labelledby="value"><h2 id="value">Value</h2>${about}
<pre class="value" data-value="${SHOWN_SECONDS}" translate="no">
${value}</pre><p class="quiet">Hidden again after ${SHOWN_SECONDS} seconds.</p>${note}<div class="row"><button type="button" data-copy="" hidden>Copy</button>${reveal("Reveal for 30 seconds more")}</div></section>`;
}

function writing({ system }: SecretNeeds, name: SecretName, token: Html, current: VersionInfo | undefined): Html {
	const version = current?.version;
	const expiry = expiryField("expires-at", current?.expires_at ?? null, system.now().toISOString());
	const heading = version === undefined ? "Write the first version" : "Write a new version";
	return html`<section class="box" aria-labelledby="write"><h2 id="write">${heading}</h2><form method="post" action="${pageOf(name)}">${token}
<input type="hidden" name="action" value="write"><input type="hidden" name="if_version" value="${version ?? ""}">
<label for="new-value">New value</label><textarea id="new-value" name="value" rows="3" required autocomplete="off" spellcheck="false" autocapitalize="off" translate="no" aria-describedby="lines"></textarea>
<p class="quiet" id="lines">Line breaks are stored as LF. For exact bytes use <code>svc secret set --from-file</code>.</p>
<label for="comment">Comment: why it changes</label><input id="comment" name="comment" type="text" autocomplete="off">
${expiry}<p><button>Write</button></p></form></section>`;
}

function deleting({ slug, key, environment }: SecretName): Html {
	return html`<p><a href="/console/realms/${slug}/secrets/${key}/delete?env=${environment}">Delete ${key} in ${environment}</a></p>`;
}

async function act(needs: SecretNeeds, visit: Visit): Promise<Page | Moved> {
	const name = nameOf(visit);
	switch (fieldOf(visit, "action")) {
		case "reveal":
			return reveal(needs, visit, name);
		case "write":
		case "rewrite":
			return write(needs, visit, name);
		case "expire":
			return expire(needs, visit, name);
		case "forget":
			visit.draft.drop();
			return { to: pageOf(name), message: "What you typed is forgotten." };
		case "rollback":
			return rollBack(needs, visit, name);
		default:
			throw new AppError("bad_request", "action must be reveal, write, rewrite, expire, forget or rollback");
	}
}

async function reveal(needs: SecretNeeds, visit: Visit, name: SecretName): Promise<Moved> {
	const { actor, form, notes } = visit;
	const asked = name.environment === "prod" ? await askAgain(needs, visit, pageOf(name)) : undefined;
	if (asked !== undefined) return asked;
	// Refused here already, where the person pressed.
	await listVersions(needs, actor, name, { limit: 1 });
	notes.reveal = { target: idOf(name), until: needs.system.now().getTime() + REVEAL_MS, isToCopy: form.copy === "yes" };
	return { to: pageOf(name) };
}

/** Writes the current value again with another expiry. */
async function expire(needs: SecretNeeds, visit: Visit, name: SecretName): Promise<Moved> {
	const { actor, form } = visit;
	const { key, environment, slug } = name;
	const asked = environment === "prod" ? await askAgain(needs, visit, pageOf(name)) : undefined;
	if (asked !== undefined) return asked;
	const [current] = (await listVersions(needs, actor, name, { limit: 1 })).rows;
	const { value } = await getSecret(needs, actor, name, "console");
	const changed = { expires_at: expiryIn(form), if_version: Number(form.if_version) };
	const input = check(SetSecret, { key, environment, value, comment: current?.comment, ...changed });
	const { version } = await setSecret(needs, actor, slug, input);
	return { to: pageOf(name), message: `Version ${version} is written: the same value with another expiry.` };
}

async function write(needs: SecretNeeds, visit: Visit, name: SecretName): Promise<Page | Moved> {
	const { actor, form, draft } = visit;
	const { comment = "", expires_at: expires = "", if_version = "" } = form;
	const value = form.action === "rewrite" ? draft.kept(idOf(name))?.value : (form.value ?? "");
	if (value === undefined) throw goneDraft();
	const input = check(SetSecret, {
		key: name.key,
		environment: name.environment,
		// Browsers send every line break as CRLF.
		value: value.replaceAll("\r\n", "\n"),
		comment,
		expires_at: expiryIn(form),
		if_version: if_version === "" ? null : Number(if_version),
	});
	try {
		const { version } = await setSecret(needs, actor, name.slug, input);
		draft.drop();
		return { to: pageOf(name), message: `Version ${version} is written.` };
	} catch (error) {
		if (!(error instanceof AppError) || error.code !== "conflict") throw error;
		const isKept = draft.keep(idOf(name), { value, comment, expires_at: expires });
		return secret(needs, visit, { comment, expires, isKept });
	}
}

async function rollBack(needs: SecretNeeds, visit: Visit, name: SecretName): Promise<Moved> {
	const { version } = check(Rollback, { version: Number(fieldOf(visit, "version")) });
	const written = await rollbackSecret(needs, visit.actor, name, version);
	const message = `Version ${version} is written again, as version ${written.version}, which does not expire.`;
	return { to: pageOf(name), message };
}
