import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, test } from "node:test";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { anEvent, newId } from "../testing/rows.ts";
import { addAccount, openTestRules } from "../testing/rules.ts";
import { addRequestKeys, convertProviders } from "./former-providers.ts";
import { openProvider, type Provider, sealProvider } from "./providers.ts";

const { store, system, keyring } = await openTestRules({ after });
const logged: string[] = [];
const needs = { store, system, keyring, log: (_level: string, event: string) => void logged.push(event) };
const root = await addAccount(store);
const SET_AT = "2030-01-01T00:00:00.000Z";
const SETTINGS = { idp_entity_id: "https://id.example.com", role_mappings: [] };

/** Stores a provider as a release before requests were signed did. */
async function addFormer(name: string, type: "oidc" | "saml" = "saml") {
	const row = { id: newId(), name, type, display_name: name, created_by: root.id, created_at: SET_AT };
	await store.sso.setProvider({ ...row, sealed: await sealProvider(needs, row, SETTINGS) }, anEvent());
	return row;
}

async function settingsOf(name: string) {
	const row = await store.sso.provider(name);
	assert.ok(row !== undefined);
	const { is } = (await openProvider(needs, row)) as Provider<"saml">;
	return { ...is.settings, id: row.id };
}

test("a SAML provider from before gets its key once, sealed, and stays as it is otherwise", async () => {
	const former = await addFormer("corp");
	await addFormer("other", "oidc");
	const start = await countEvents(store);
	await convertProviders(needs);
	const { id, request_key, ...settings } = await settingsOf("corp");
	assert.deepEqual(settings, SETTINGS);
	assert.notEqual(id, former.id, "the settings without a key no longer open");
	assert.ok(request_key !== undefined);
	const { publicKey } = new X509Certificate(request_key.certificate);
	assert.equal(publicKey.asymmetricKeyType, "rsa");
	const row = await store.sso.provider("corp");
	assert.deepEqual([row?.created_by, row?.created_at], [root.id, SET_AT]);
	assert.doesNotMatch(row?.sealed.toString("latin1") ?? "", /PRIVATE KEY/);
	const facts = { provider: "corp", provider_id: id, provider_type: "saml" };
	assert.deepEqual(await eventsAfter(store, start), [["sso.provider.set", facts]]);
	await convertProviders(needs);
	assert.deepEqual(await settingsOf("corp"), { ...settings, id, request_key }, "once is enough");
	assert.equal((await settingsOf("other")).request_key, undefined);
	assert.deepEqual(logged, []);
});

test("of servers that start at the same time, one makes the key", async () => {
	await addFormer("shared");
	const start = await countEvents(store);
	await Promise.all([addRequestKeys(needs), addRequestKeys(needs), addRequestKeys(needs)]);
	assert.equal((await eventsAfter(store, start)).length, 1);
	assert.ok((await settingsOf("shared")).request_key !== undefined);
});

test("a provider that does not open is left alone, and the others get their keys", async () => {
	const broken = await addFormer("broken");
	const sealed = Buffer.from("of another");
	await store.sso.setProvider({ ...broken, sealed }, anEvent());
	await addFormer("whole");
	await addRequestKeys(needs);
	assert.ok((await settingsOf("whole")).request_key !== undefined);
	assert.deepEqual((await store.sso.provider("broken"))?.sealed, sealed);
	assert.deepEqual(logged, ["sso.request_key.failed"]);
});
