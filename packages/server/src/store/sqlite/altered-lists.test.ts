import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ListedEvent } from "../../audit/model.ts";
import { AppError } from "../../errors.ts";
import { addLease } from "../../testing/leases.ts";
import { aLease, aLink, anEvent, aToken, aVersion } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";
import { openWriter } from "./open.ts";

const { store, file } = await openTestStore({ after });
const owner = await addAccount(store);
const eve = await addAccount(store);

/** Writes into the file as another program does. */
async function alter(sql: string): Promise<void> {
	const otherWriter = openWriter(file);
	otherWriter.pragma("foreign_keys = OFF");
	otherWriter.exec(sql);
	otherWriter.close();
	await nextTurn();
}

const refusesAltered = (error: unknown) => error instanceof AppError && error.code === "row_altered";
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);

const ALL = { realm: undefined, type: undefined, actors: undefined };

test("an altered role is in no list, and shows its holder no events and no realms", async () => {
	const realm = await addRealm(store, owner);
	const bob = await addAccount(store);
	await addBinding(store, realm, bob, "viewer");
	await store.audit.append(anEvent({ type: "secret.read", realm_id: realm.id, realm: realm.slug }));
	const seenBy = async ({ id: member_id }: { id: string }): Promise<ListedEvent[]> =>
		store.audit.list({ ...ALL, scopes: [{ member_id }] }, undefined, 100);
	assert.equal((await seenBy(bob)).length, 2);
	await alter(
		`INSERT INTO binding SELECT 'forged', realm_id, '${eve.id}', 'admin', granted_by, created_at, mac FROM binding WHERE user_id = '${bob.id}'`,
	);
	assert.deepEqual(await seenBy(eve), []);
	assert.deepEqual(await store.realms.list(eve.id, undefined, "", 100), []);
	assert.deepEqual(
		(await store.policy.list(realm.id, "", 100)).map(({ user_id }) => user_id),
		[bob.id],
	);
	await alter(`UPDATE binding SET role = 'admin' WHERE user_id = '${bob.id}'`);
	assert.deepEqual([await seenBy(bob), await store.policy.list(realm.id, "", 100)], [[], []]);
});

test("an altered token, session, account or link is in no list, and what another program put into a token's line is not of it", async () => {
	const ada = await addAccount(store);
	const parent = aToken(ada.id);
	const made = aToken(ada.id, { maker_id: parent.id });
	const others = aToken(ada.id);
	for (const token of [parent, made, others]) await store.tokens.create(token, anEvent());
	const line = async () => idsOf(await store.tokens.listLineage(parent.id, "", 100));
	assert.deepEqual(await line(), [parent.id, made.id]);
	await alter(`UPDATE api_token SET maker_id = '${parent.id}' WHERE id = '${others.id}'`);
	assert.deepEqual([await line(), await store.tokens.countLineage(parent.id)], [[parent.id, made.id], 2]);
	assert.deepEqual(idsOf(await store.tokens.list(ada.id, "", 100)), [parent.id, made.id]);
	await alter(`UPDATE api_token SET scopes = 'read,write,delete' WHERE id = '${made.id}'`);
	assert.deepEqual(await line(), [parent.id]);
	await store.sso.link(aLink(ada), anEvent());
	assert.equal((await store.sso.identitiesOf(ada.id)).length, 1);
	await alter(`UPDATE sso_identity SET is_vouched = 1 - is_vouched WHERE user_id = '${ada.id}'`);
	assert.deepEqual(await store.sso.identitiesOf(ada.id), []);
	await alter(`UPDATE account SET instance_admin = 1 WHERE id = '${ada.id}'`);
	assert.equal(idsOf(await store.accounts.list("", 100)).includes(ada.id), false);
});

/** Changes of a secret `altered` after which a list of the realm's secrets is no answer. */
const LOSSES: Record<string, string> = {
	"is in another environment": "UPDATE secret SET environment = 'prod' WHERE key = 'altered'",
	"has another name": "UPDATE secret SET key = 'renamed' WHERE key = 'altered'",
	"is at another version": "UPDATE secret SET version = 1 WHERE key = 'altered'",
	"is at a version that never was": "UPDATE secret SET version = 9 WHERE key = 'altered'",
	"has no current version":
		"DELETE FROM secret_version WHERE version = 2 AND secret_id = (SELECT id FROM secret WHERE key = 'altered')",
	"has a MAC that does not fit": "UPDATE secret SET mac = zeroblob(40) WHERE key = 'altered'",
	"is at a version whose MAC does not fit":
		"UPDATE secret_version SET mac = zeroblob(40) WHERE secret_id = (SELECT id FROM secret WHERE key = 'altered')",
	"has expired":
		"UPDATE secret_version SET expires_at = '2020' WHERE secret_id = (SELECT id FROM secret WHERE key = 'altered')",
};

for (const [what, sql] of Object.entries(LOSSES)) {
	test(`a list of secrets of which one ${what} by another program's hand is refused`, async (t) => {
		const opened = await openTestStore(t);
		const { secrets } = opened.store;
		const realm = await addRealm(opened.store, await addAccount(opened.store));
		for (const key of ["sound", "altered", "altered"]) await secrets.set(aVersion(realm.id, key), anEvent());
		assert.equal((await secrets.list(realm.id, "dev", "", 100)).length, 2);
		const otherWriter = openWriter(opened.file);
		otherWriter.exec(sql);
		otherWriter.close();
		await nextTurn();
		for (const environment of ["dev", undefined] as const)
			await assert.rejects(async () => secrets.list(realm.id, environment, "", 100), refusesAltered, environment);
	});
}

/** A secret of a store of its own, the list that has it, and the read of the version that the list names. */
async function listedSecret(t: TestContext) {
	const opened = await openTestStore(t);
	const { secrets } = opened.store;
	const realm = await addRealm(opened.store, await addAccount(opened.store));
	await secrets.set(aVersion(realm.id, "k"), anEvent());
	const list = async () => secrets.list(realm.id, "dev", "", 100);
	const refs = await list();
	return { ...opened, list, read: async () => secrets.versionsAt(refs) };
}

test("a list of secrets, and a version, that were believed are refused once the key of their rows is gone", async (t) => {
	const { store, list, read } = await listedSecret(t);
	for (const ask of [list, read]) assert.equal((await ask()).length, 1);
	await store.guard([{ id: Buffer.alloc(8, 2), bytes: Buffer.alloc(32, 2) }]);
	for (const ask of [list, read]) await assert.rejects(ask, refusesAltered);
});

const CHANGES_OF_A_VERSION = ["pre_encrypted = 1", "expires_at = '2040'", "id = 'another'", "mac = NULL"];

for (const change of CHANGES_OF_A_VERSION) {
	test(`a version that was read before is refused with ${change} by another program's hand`, async (t) => {
		const { file, read } = await listedSecret(t);
		assert.equal((await read())[0]?.key, "k");
		const aside = openWriter(file);
		aside.exec(`UPDATE secret_version SET ${change}`);
		aside.close();
		await nextTurn();
		await assert.rejects(read, refusesAltered);
	});
}

test("a history that lacks a version between its oldest and its newest is refused, and so is that version", async () => {
	const realm = await addRealm(store, owner);
	for (let count = 0; count < 25; count++) await store.secrets.set(aVersion(realm.id, "k"), anEvent());
	const history = async (before?: number) => store.secrets.history(realm.id, "dev", "k", before, 100);
	const version = async (number: number) => store.secrets.version(realm.id, "dev", "k", number);
	const remove = (number: number) =>
		alter(
			`DELETE FROM secret_version WHERE version = ${number} AND secret_id = (SELECT id FROM secret WHERE realm_id = '${realm.id}')`,
		);
	const numbers = Array.from({ length: 20 }, (_, index) => 25 - index);
	assert.deepEqual(
		(await history()).map((row) => row.version),
		numbers,
	);
	assert.deepEqual(
		[await version(5), await version(26)].map((row) => row?.version),
		[undefined, undefined],
	);
	await remove(15);
	await assert.rejects(history(), refusesAltered);
	await assert.rejects(history(16), refusesAltered);
	await assert.rejects(version(15), refusesAltered);
	assert.equal((await history(15)).length, 9, "what is behind the gap is whole");
	await remove(25);
	await assert.rejects(history(), refusesAltered);
});

test("an altered lease is named as altered, in a list and by itself, and no other", async () => {
	const realm = await addRealm(store, owner);
	const [forged, sound] = [
		await addLease(store, "active", aLease(realm.id)),
		await addLease(store, "active", aLease(realm.id)),
	];
	const filter = { realm_id: realm.id, engine: "", state: "" } as const;
	const altered = async () => (await store.leases.list(filter, "~", 100)).filter((lease) => lease.altered);
	assert.deepEqual(await altered(), []);
	await alter(`UPDATE lease SET user_id = '${eve.id}' WHERE id = '${forged.id}'`);
	assert.deepEqual(idsOf(await altered()), [forged.id]);
	assert.equal((await store.leases.byId(forged.id))?.altered, true);
	assert.equal((await store.leases.byId(sound.id))?.altered, false);
});

test("a report of a restore that another program wrote is not shown", async () => {
	await alter("INSERT INTO meta (name, value) VALUES ('restore_to_tell', '{}')");
	assert.equal(await store.backups.restored(), undefined);
});

test("a metric of values that expire is counted over rows that were altered, too", async () => {
	const realm = await addRealm(store, owner);
	await store.secrets.set(aVersion(realm.id, "k", { expires_at: "2030-06-01T00:00:00.000Z" }), anEvent());
	const before = await store.secrets.countExpiring("2031", 10);
	await alter(`UPDATE realm SET slug = 'other' WHERE id = '${realm.id}'`);
	assert.equal(await store.secrets.countExpiring("2031", 10), before);
});
