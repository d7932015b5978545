import { addFactor, confirmFactor, listFactors, removeFactor, renewRecoveryCodes } from "../../factors/factors.ts";
import { AddPasskey, AskedAgain, ConfirmFactor, type Factor } from "../../factors/model.ts";
import { addPasskey, confirmPasskey } from "../../factors/passkeys.ts";
import { RegistrationResponse } from "../../factors/responses.ts";
import { check, parseJson } from "../../http/input.ts";
import { command } from "../command.ts";
import { type Address, address, type Html, html, targetOf } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { ANSWER, signedIn } from "../passkey.ts";
import { ofAccount } from "./account-frame.ts";
import { table, time } from "./components.ts";
import { askForWaiting, copied, keepOnce, keepWaiting, ONCE_SECONDS, onceBox, takeOnce, takeWaiting } from "./once.ts";
import { addingPasskey, type FactorPageNeeds, holderOf, inPlaceOfCode, makingPasskey, stateOf } from "./passkeys.ts";
import { qrPicture } from "./qr-picture.ts";

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
	const another = inPlaceOfCode(needs, visit, rows);
	const proof = (id: string) => proofFields(id, isAsked, another);
	const lines = await Promise.all(rows.map((row) => line(needs, visit, row, rows, proof)));
	const list =
		rows.length === 0
			? html`<p>Your login asks only for the password.</p>`
			: table("What your login asks for in addition to the password", ["Kind", "Added", "State", "Change"], lines);
	const codes = isAsked ? recovery(recovery_codes_left, visit.token, proof("renew")) : "";
	const shown = await shownOnce(needs, visit);
	return {
		title: "Second factor",
		...(shown === undefined ? {} : { refresh: ONCE_SECONDS }),
		...ofAccount("Second factor"),
		body: html`${shown ?? ""}${list}${codes}<h2>Add an authenticator app</h2><p>Your login then asks for a code of the app. API tokens and sign-ins at a provider need no code.</p>
<form method="post" action="/console/account/factors">${visit.token}<input type="hidden" name="action" value="add">${proof("add")}<p><button>Show the QR code</button></p></form>
${addingPasskey(needs, visit.token, proof("passkey"))}`,
		commands: [command`svc factor list`, command`svc factor add`, command`svc factor recovery`],
	};
}

async function shownOnce({ system }: FactorPageNeeds, visit: Visit): Promise<Html | undefined> {
	const secret = takeOnce(visit, system, targetOf(SECRET)) ?? takeWaiting(visit, system, targetOf(SECRET));
	if (secret !== undefined) {
		const [text = "", link = ""] = secret.split("\n");
		const note =
			"Scan the picture with the app, type the secret into it, or open the link with it. Then confirm it below with the first code.";
		const picture = await qrPicture(link, "QR code of the link, for an authenticator app");
		const more = html`${picture}<p>The same as a link</p>${copied("app-link", link, "Copy the link")}`;
		return onceBox("Secret for the app", text, note, more);
	}
	const codes = takeOnce(visit, system, targetOf(CODES));
	if (codes === undefined) return undefined;
	return onceBox("Recovery codes", codes, "Each replaces a code once. Keep them away from your device.");
}

/** Makes the fields with the proof that a change asks for. */
type Proof = (id: string) => Html;

async function line(
	needs: FactorPageNeeds,
	visit: Visit,
	row: Factor,
	rows: readonly Factor[],
	proof: Proof,
): Promise<Html> {
	const { id, type, name, created_at, confirmed_at } = row;
	const isPasskey = type === "passkey";
	const confirming = () => (isPasskey ? makingPasskey(needs, visit, row, rows) : confirmingApp(id, visit.token));
	const form = confirmed_at === null ? await confirming() : removing(row, visit.token, proof(id));
	const asked = isPasskey ? stateOf(row, needs.address()) : "asked for";
	const state = confirmed_at === null ? html`<span class="warn">to be confirmed</span>` : asked;
	return html`<tr><th scope="row">${isPasskey ? `Passkey ${name}` : "Authenticator app"}</th><td data-label="Added">${time(created_at)}</td><td data-label="State">${state}</td><td>${form}</td></tr>`;
}

const codeField = (id: string, label: string): Html =>
	html`<label for="code-${id}">${label}</label><input id="code-${id}" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" autocapitalize="off" required>`;

function proofFields(id: string, isAsked: boolean, another: Html | string): Html {
	const code = isAsked ? html`${codeField(id, "Code of your app, or a recovery code")}${another}` : "";
	return html`<label for="password-${id}">Password of your account</label><input id="password-${id}" name="current_password" type="password" autocomplete="current-password" required>${code}`;
}

function confirmingApp(id: string, token: Html): Html {
	return html`<form method="post" action="/console/account/factors">${token}<input type="hidden" name="action" value="confirm"><input type="hidden" name="id" value="${id}">${codeField(id, "First code of the app")}<p><button>Confirm</button></p></form>`;
}

function removing({ id, type }: Factor, token: Html, proof: Html): Html {
	return html`<details><summary>Remove</summary><form method="post" action="/console/account/factors">${token}<input type="hidden" name="action" value="remove"><input type="hidden" name="id" value="${id}">${proof}<p><button>Remove the ${type === "passkey" ? "passkey" : "app"}</button></p></form></details>`;
}

function recovery(left: number, token: Html, proof: Html): Html {
	return html`<h2>Recovery codes</h2><p>Left: ${left}. Each replaces a code once; new ones replace the old ones.</p>
<form method="post" action="/console/account/factors">${token}<input type="hidden" name="action" value="renew">${proof}<p><button>Make new recovery codes</button></p></form>`;
}

async function change(needs: FactorPageNeeds, visit: Visit): Promise<Moved> {
	const { actor, form } = visit;
	const typed = { current_password: form.current_password || undefined, code: form.code || undefined };
	const passkey = () => signedIn(needs, form, holderOf(visit));
	const asked = () => ({ ...check(AskedAgain, typed), passkey: passkey() });
	switch (form.action) {
		case "add": {
			const { secret, url } = await addFactor(needs, actor, { type: "totp", ...asked() });
			const text = `${secret}\n${url}`;
			keepWaiting(visit.notes, needs.system, targetOf(SECRET), text);
			return once(needs, visit, SECRET, text, "Confirm the app with its first code.");
		}
		case "confirm": {
			const recovery_codes = await confirmApp(needs, visit);
			return confirmed(needs, visit, recovery_codes, "Confirmed: your login asks for a code now");
		}
		case "add-passkey": {
			const named = check(AddPasskey, { ...typed, name: form.name });
			await addPasskey(needs, actor, { ...named, passkey: passkey() });
			return { to: HOME, message: "Now let the browser make the passkey." };
		}
		case "confirm-passkey": {
			const answer = check(RegistrationResponse, parseJson(Buffer.from(fieldOf(visit, ANSWER))));
			const { recovery_codes } = await confirmPasskey(needs, actor, fieldOf(visit, "id"), answer);
			return confirmed(needs, visit, recovery_codes, "The passkey signs in from now on");
		}
		case "renew": {
			const { recovery_codes } = await renewRecoveryCodes(needs, actor, asked());
			const message = "New recovery codes are made; the earlier ones no longer work.";
			return once(needs, visit, CODES, recovery_codes.join("\n"), message);
		}
		default:
			await removeFactor(needs, actor, fieldOf(visit, "id"), asked());
			return { to: HOME, message: "The second factor is removed." };
	}
}

/** Confirms the app with its first code. A wrong one shows the secret again. */
async function confirmApp(needs: FactorPageNeeds, visit: Visit): Promise<readonly string[]> {
	const { actor, form, notes } = visit;
	askForWaiting(notes);
	const { code } = check(ConfirmFactor, { code: form.code });
	const { recovery_codes } = await confirmFactor(needs, actor, fieldOf(visit, "id"), code);
	notes.waiting = undefined;
	return recovery_codes;
}

function confirmed(needs: FactorPageNeeds, visit: Visit, codes: readonly string[], what: string): Moved {
	const message = `${what}, and your other sessions have ended.`;
	return codes.length === 0 ? { to: HOME, message } : once(needs, visit, CODES, codes.join("\n"), message);
}

function once({ system }: FactorPageNeeds, { notes }: Visit, to: Address, text: string, message: string): Moved {
	keepOnce(notes, system, targetOf(to), text);
	return { to, message };
}
