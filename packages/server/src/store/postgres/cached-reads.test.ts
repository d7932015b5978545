/* Reads that the SQLite adapter answers from a cache, on two servers that share one database on a real PostgreSQL. */
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
import { openPostgresTestPair } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
const ends = new AsyncDisposableStack();
let here: Store;
let there: Store;
let runSql: (text: string) => Promise<unknown>;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	const postgres: Postgres = await startPostgres();
	ends.defer(postgres.stop);
	({ here, there, runSql } = await openPostgresTestPair({ after: (close) => void ends.defer(close) }, postgres));
});

/** A read on one server, and changes on the other, after each of which it must answer something else. */
interface Case {
	read(): unknown;
	changes: (() => Promise<unknown>)[];
}

/** Makes the case of each read that is declared with a cache. */
const CASES: Record<string, () => Promise<Case>> = {
	async "tokens.owner"() {
		const { id: user_id } = await addAccount(here);
		const token = aToken(user_id);
		return {
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
			read: async () => (await there.secrets.get(id, "dev", "KEY"))?.version,
			changes: [1, 2].map(() => () => here.secrets.set(aVersion(id, "KEY"), anEvent())),
		};
	},
	async "engines.config"() {
		const engine = `engine-${newId()}`;
		return {
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
	test(`${name} is asked each time: no server answers what another one has changed`, options, async () => {
		const { read, changes } = await (CASES[name] ?? assert.fail(`${name} has a cache: add a case`))();
		let before = await read();
		for (const change of changes) {
			assert.deepEqual(await read(), before);
			await change();
			const answer = await read();
			assert.notDeepEqual(answer, before);
			before = answer;
		}
	});
}

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
