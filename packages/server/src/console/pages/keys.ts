import { KEY_PURPOSES } from "../../crypto/keyring-model.ts";
import { check } from "../../http/input.ts";
import { getKeys, type KeyNeeds, rotateKey } from "../../keys/keys.ts";
import { RotateKey } from "../../keys/model.ts";
import { command } from "../command.ts";
import { address, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { table, time } from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { ofServer } from "./server-frame.ts";

const PATH = /^\/console\/keys$/;

/** The keys' names and ages, no part of a key, for the instance admin. */
export function keysPage(needs: KeyNeeds & AskAgainNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => keys(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => rotate(needs, visit) },
	];
}

async function keys(needs: KeyNeeds, { actor, token }: Visit): Promise<Page> {
	const { master, keys: found, realm_keys } = await getKeys(needs, actor, undefined);
	const rows = found.map(
		({ id, purpose, state, created_at }) =>
			html`<tr><th scope="row">${purpose}</th><td data-label="Id" class="key">${id.toString("hex")}</td><td data-label="State">${state}</td><td data-label="Made">${time(created_at)}</td></tr>`,
	);
	const options = KEY_PURPOSES.map((purpose) => html`<option value="${purpose}">${purpose}</option>`);
	const next = master.next === "" ? "" : html` The next one is ready: <code>${master.next}</code>.`;
	return {
		...ofServer("Keys", actor),
		title: "Keys",
		body: html`<p>Master key: fingerprint <code>${master.fingerprint}</code>, from the ${master.origin}.${next}</p>
${table("Keys of the instance", ["Purpose", "Id", "State", "Made"], rows)}
<p>Realms have ${realm_keys.active} active keys and ${realm_keys.retired} retired ones.</p>
<h2>Rotate a key</h2><p>A new key takes the place of the active one. Anything that the old one sealed or signed stays valid, except for lists that somebody is reading page by page.</p>
<form method="post" action="/console/keys">${token}<label for="purpose">Purpose</label><select id="purpose" name="purpose">${options}</select>
<p><label><input type="checkbox" name="sure" value="yes" required> Yes, replace the active key</label></p><p><button>Rotate the key</button></p></form>`,
		commands: [command`svc keys status`, command`svc keys rotate --data`, command`svc keys rotate --master`],
	};
}

async function rotate(needs: KeyNeeds & AskAgainNeeds, visit: Visit): Promise<Moved> {
	fieldOf(visit, "sure");
	const asked = await askAgain(needs, visit, address`/console/keys`);
	if (asked !== undefined) return asked;
	const { purpose } = check(RotateKey, { purpose: fieldOf(visit, "purpose") });
	const { message } = await rotateKey(needs, visit.actor, { purpose, realm: undefined });
	return { to: address`/console/keys`, message: `The key is rotated: ${message}.` };
}
