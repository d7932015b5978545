/* Remembered answers of two servers that share one database on a real PostgreSQL. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, before, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import {
	aConfig,
	aMachine,
	aMachineToken,
	anEvent,
	aSession,
	aToken,
	aTrust,
	aVersion,
	MADE_AT,
	newId,
} from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { MAX_USED } from "../../trusts/model.ts";
import { DECLARATIONS, type Store } from "../store.ts";
import { openPostgresTestPair, openPostgresTestStore, runSql as runSqlIn } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
const ends = new AsyncDisposableStack();
let server: Postgres;
let here: Store;
let there: Store;
let runSql: (text: string) => Promise<unknown>;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	server = await startPostgres();
	ends.defer(server.stop);
	({ here, there, runSql } = await openPostgresTestPair({ after: (close) => void ends.defer(close) }, server));
});

/** A read on one server, and changes on the other, after each of which it must answer something else. */
interface Case {
	read(): unknown;
	changes: (() => Promise<unknown>)[];
	/** A table that the read needs. */
	table: string;
}

/** Makes the case of each read that is declared with a cache. */
const CASES: Record<string, () => Promise<Case>> = {
	async "tokens.owner"() {
		const { id: user_id } = await addAccount(here);
		const token = aToken(user_id);
		return {
			table: "api_token",
			read: () => there.tokens.owner(token.digest),
			changes: [
				() => here.tokens.create(token, anEvent()),
				() => here.tokens.revoke({ id: token.id, user_id }, anEvent()),
			],
		};
	},
	async "accounts.sessionOwner"() {
		const { id, password } = await addAccount(here);
		const session = aSession(id);
		return {
			table: "session",
			read: () => there.accounts.sessionOwner(session.jti, id, MADE_AT),
			changes: [
				() => here.accounts.openSession({ session, password }, anEvent()),
				() => here.accounts.closeSession(session.jti, anEvent()),
			],
		};
	},
	async "realms.access"() {
		const owner = await addAccount(here);
		const slug = `realm-${newId()}`;
		const id = newId();
		return {
			table: "realm",
			read: () => there.realms.access(slug, owner.id),
			changes: [
				() => addRealm(here, owner, { id, slug }),
				() => here.realms.remove({ id, deleted_at: MADE_AT }, anEvent({ realm_id: id })),
			],
		};
	},
	async "secrets.get"() {
		const { id } = await addRealm(here, await addAccount(here));
		return {
			table: "secret",
			read: async () => (await there.secrets.get(id, "dev", "KEY"))?.version,
			changes: [1, 2].map(() => () => here.secrets.set(aVersion(id, "KEY"), anEvent())),
		};
	},
	async "engines.config"() {
		const engine = `engine-${newId()}`;
		return {
			table: "engine_config",
			read: () => there.engines.config(engine, "", "active"),
			changes: [
				() => here.engines.setConfig(aConfig({ engine }), anEvent()),
				() => here.engines.setConfig(aConfig({ engine }), anEvent()),
				() => here.engines.removeConfig({ engine, realm_id: "" }, anEvent()),
			],
		};
	},
};

for (const [name, declared] of DECLARATIONS) {
	if (declared.kind !== "read" || declared.cached === undefined) continue;
	test(`${name} is remembered until another server has changed it`, options, async () => {
		const { read, changes, table } = await (CASES[name] ?? assert.fail(`${name} has a cache: add a case`))();
		let before = await read();
		for (const change of changes) {
			assert.deepEqual(await read(), before);
			if (before !== undefined) await without(table, async () => assert.deepEqual(await read(), before));
			await change();
			const answer = await read();
			assert.notDeepEqual(answer, before);
			before = answer;
		}
	});
}

/** Takes a table away meanwhile: what needs it fails. */
async function without(table: string, run: () => Promise<void>): Promise<void> {
	await runSql(`ALTER TABLE svc.${table} RENAME TO taken_away`);
	try {
		await run();
	} finally {
		await runSql(`ALTER TABLE svc.taken_away RENAME TO ${table}`);
	}
}

test("the rights of an event's maker are remembered until another server has changed them", options, async () => {
	const { id: user_id } = await addAccount(here);
	const token = aToken(user_id);
	await here.tokens.create(token, anEvent());
	const event = anEvent({ maker: { user_id, jti: undefined, token_id: token.id, grants: [] } });
	await there.audit.append(event);
	await without("api_token", () => there.audit.append(event));
	await here.tokens.revoke({ id: token.id, user_id }, anEvent());
	await assert.rejects(there.audit.append(event), { code: "unauthorized" });
});

test("remembered rights end with the change that takes them, also within one transaction", options, async () => {
	const { id: user_id } = await addAccount(here);
	const token = aToken(user_id);
	await here.tokens.create(token, anEvent());
	const event = anEvent({ maker: { user_id, jti: undefined, token_id: token.id, grants: [] } });
	await here.audit.append(event);
	const [revoked, appended] = await Promise.allSettled([
		here.tokens.revoke({ id: token.id, user_id }, anEvent()),
		here.audit.append(event),
	]);
	assert.deepEqual([revoked.status, appended.status], ["fulfilled", "rejected"]);
});

test("a server that finds the log without its end remembers nothing", options, async (t) => {
	const { store, database } = await openPostgresTestStore(t, server);
	const { id } = await addRealm(store, await addAccount(store));
	await store.secrets.set(aVersion(id, "KEY"), anEvent());
	const read = async () => (await store.secrets.get(id, "dev", "KEY"))?.comment;
	const runHere = (text: string) => runSqlIn(server, database, text);
	const comment = (text: string) => runHere(`UPDATE svc.secret_version SET comment = '${text}'`);
	await comment("one");
	assert.equal(await read(), "one");
	await comment("two");
	assert.equal(await read(), "one", "it is remembered");
	// The tips before and after an event have the same marks.
	await store.audit.append(anEvent());
	await runHere(`SET session_replication_role = replica; DELETE FROM svc.tip WHERE id = (SELECT max(id) FROM svc.tip)`);
	assert.equal(await read(), "two");
});

test("the used JWTs of a realm are counted at each exchange: another server may have used some", options, async () => {
	const realm = await addRealm(here, await addAccount(here));
	const machine = aMachine(realm.id);
	await here.machines.set(machine, anEvent());
	const trust = aTrust(machine.id);
	await here.trusts.set(trust, anEvent());
	const exchange = () => {
		const token = aMachineToken(machine.id, { trust_id: trust.id, created_by: "" });
		const used = { digest: hash("sha256", newId(), "buffer"), realm_id: realm.id, until: token.expires_at };
		return there.trusts.exchange({ token, used }, anEvent());
	};
	assert.equal(await exchange(), "done");
	await runSql(`INSERT INTO svc.trust_used (digest, realm_id, until)
		SELECT sha256(n::text::bytea), '${realm.id}', '9999' FROM generate_series(2, ${MAX_USED}) AS n`);
	assert.equal(await exchange(), "limit_reached");
});
