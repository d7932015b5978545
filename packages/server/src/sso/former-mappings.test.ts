import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sealRecord } from "../crypto/seal.ts";
import { madeAtMs } from "../system.ts";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { anEvent, newIdAt } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { convertMappings, createMappingsCheck } from "./former-mappings.ts";
import { openProvider } from "./providers.ts";

const { store, system, keyring } = await openTestRules({ after });
const logged: string[] = [];
const needs = { store, system, keyring, log: (_level: string, event: string) => void logged.push(event) };
const check = createMappingsCheck(needs);
const root = await addAccount(store);

const SET_AT = "2030-01-01T00:00:00.000Z";
const SET_MS = Date.parse(SET_AT);
/** A time that another program wrote: no MAC covers it. */
const MADE_UP = "2020-01-01T00:00:00.000Z";

/** Makes a realm this many milliseconds after the providers were set, as its id says. */
const realmAt = (ms: number, slug?: string) =>
	addRealm(store, root, { id: newIdAt(SET_MS + ms), created_at: MADE_UP, ...(slug !== undefined && { slug }) });

/** Stores a provider as a release before realms were kept by id did. */
async function addFormer(name: string, role_mappings: object[]) {
	const row = {
		id: newIdAt(SET_MS),
		name,
		type: "oidc",
		display_name: name,
		created_by: root.id,
		created_at: SET_AT,
	} as const;
	const context = {
		label: "sso_provider.sealed",
		realm_id: "",
		environment: row.type,
		name,
		row_id: row.id,
	} as const;
	const settings = Buffer.from(JSON.stringify({ issuer: "https://id.example.com", role_mappings }));
	const sealed = sealRecord(await keyring.record(""), context, settings, system.randomBytes);
	await store.sso.setProvider({ ...row, sealed }, anEvent());
	return row;
}

async function mappingsOf(name: string) {
	const row = await store.sso.provider(name);
	assert.ok(row !== undefined);
	return (await openProvider(needs, row)).is.settings.role_mappings;
}

test("a mapping from before gets the id of a realm that is older than it, and one that cannot be determined grants nothing", async () => {
	const older = await realmAt(-1);
	const younger = await realmAt(0);
	const slugs = [older.slug, younger.slug, "no-such-realm"];
	const row = await addFormer(
		"corp",
		slugs.map((realm) => ({ group: "ops", realm, role: "admin" })),
	);
	const start = await countEvents(store);
	await convertMappings(needs);
	const converted = [
		{ group: "ops", realm_id: older.id, role: "admin" },
		{ group: "ops", realm: younger.slug, role: "admin" },
		{ group: "ops", realm: "no-such-realm", role: "admin" },
	];
	assert.deepEqual(await mappingsOf("corp"), converted);
	const now = await store.sso.provider("corp");
	assert.deepEqual([now?.created_by, now?.created_at, now?.id === row.id], [root.id, SET_AT, false]);
	assert.equal(madeAtMs(now?.id ?? ""), SET_MS, "realms that are made now stay younger");
	assert.deepEqual(await eventsAfter(store, start), [
		["sso.provider.set", { provider: "corp", provider_id: now?.id, provider_type: "oidc" }],
	]);
	await store.realms.remove({ id: older.id, deleted_at: SET_AT }, anEvent());
	await realmAt(1, "no-such-realm");
	await convertMappings(needs);
	assert.deepEqual(await mappingsOf("corp"), converted, "once is enough");
	const [found, ...others] = await check();
	assert.deepEqual([found?.name, found?.status, others], ["sso", "warning", []]);
	for (const slug of [younger.slug, "no-such-realm"]) assert.ok(found?.message.includes(slug));
	assert.ok(!found?.message.includes(older.slug));
	await store.sso.removeProvider("corp", anEvent());
	assert.deepEqual(await check(), []);
});

test("a provider that does not open is left alone, and the others are converted", async () => {
	const realm = await realmAt(-1);
	const mappings = [{ group: "ops", realm: realm.slug, role: "viewer" }];
	const broken = await addFormer("broken", mappings);
	const sealed = Buffer.from("of another");
	await store.sso.setProvider({ ...broken, sealed }, anEvent());
	await addFormer("whole", mappings);
	await convertMappings(needs);
	assert.deepEqual(await mappingsOf("whole"), [{ group: "ops", realm_id: realm.id, role: "viewer" }]);
	assert.deepEqual((await store.sso.provider("broken"))?.sealed, sealed);
	assert.deepEqual(logged, ["sso.role_mappings.failed"]);
});
