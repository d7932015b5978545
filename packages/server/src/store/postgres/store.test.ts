import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { countEvents, isChainIntact } from "../../testing/events.ts";
import { aFactor, aLease, anAccount, anEvent, aSession, aVersion, recoveryCodes } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import { openPostgresTestStore, runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

/** Opens a store with a realm and a member in it, and what acts behind its back. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const running = await server;
	const { store, database } = await openPostgresTestStore(t, running);
	const [owner, member] = [await addAccount(store), await addAccount(store)];
	const realm = await addRealm(store, owner);
	await addBinding(store, realm, member, "viewer");
	return {
		...{ store, owner, member, realm },
		runSql: (text: string) => runSql(running, database, text),
		reopen: async () => (await openPostgresTestStore(t, running, database)).store,
	};
}

test("a row that another program altered grants nothing, and the next start names it", options, async (t) => {
	const { store, member, realm, runSql, reopen } = await setUp(t);
	assert.equal((await store.realms.access(realm.slug, member.id))?.role, "viewer");
	assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
	await runSql("UPDATE svc.binding SET role = 'admin'");
	assert.equal((await store.realms.access(realm.slug, member.id))?.role, null);
	assert.deepEqual((await store.checkIntegrity()).access, ["the sum of access rows", "rows of binding"]);
	await store.close();
	const again = await reopen();
	assert.deepEqual(await again.health.alterations(), ["the sum of access rows", "rows of binding"]);
});

test("an altered realm is no answer, not even that there is none", options, async (t) => {
	const { store, owner, realm, runSql } = await setUp(t);
	await runSql("UPDATE svc.realm SET mac = NULL");
	await assert.rejects(async () => store.realms.access(realm.slug, owner.id), { code: "row_altered" });
});

test("a second factor that was altered lets nobody in by the password alone", options, async (t) => {
	const { store, member, runSql } = await setUp(t);
	const factor = aFactor(member.id);
	await store.factors.add({ factor, owner: { user_id: member.id, password: "a hash", proof: undefined } }, anEvent());
	const confirmed = {
		id: factor.id,
		user_id: member.id,
		step: 1,
		since: "",
		keep: "",
		codes: recoveryCodes(member.id),
	};
	assert.equal(await store.factors.confirm(confirmed, anEvent()), "done");
	await runSql("UPDATE svc.factor SET confirmed_at = NULL");
	const opening = store.accounts.openSession({ session: aSession(member.id), password: "a hash" }, anEvent());
	const beside = store.accounts.register(anAccount(), anEvent());
	await assert.rejects(opening, { code: "row_altered" });
	await beside;
});

test("a row that was taken away is missed by the sum of all rows", options, async (t) => {
	const { store, runSql } = await setUp(t);
	await runSql("DELETE FROM svc.binding");
	assert.deepEqual((await store.checkIntegrity()).access, ["the sum of access rows"]);
});

test("a change of a row that was altered does not bless it", options, async (t) => {
	const { store, owner, runSql } = await setUp(t);
	await runSql(`UPDATE svc.account SET email = 'eve@example.com' WHERE id = '${owner.id}'`);
	await store.accounts.setPassword({ user_id: owner.id, from: "a hash", password: "another", keep: "" }, anEvent());
	assert.equal(await store.accounts.byId(owner.id), undefined);
});

test("the next change notices that the log was cut, and rows that it writes grant nothing", options, async (t) => {
	const { store, runSql } = await setUp(t);
	await runSql(
		"ALTER TABLE svc.audit_event DISABLE TRIGGER ALL; DELETE FROM svc.audit_event WHERE seq = (SELECT max(seq) FROM svc.audit_event); ALTER TABLE svc.audit_event ENABLE TRIGGER ALL",
	);
	const late = anAccount();
	await store.accounts.register(late, anEvent());
	assert.deepEqual(await store.health.alterations(), ["the end of the audit log"]);
	await store.altered;
	assert.equal(await store.accounts.byId(late.id), undefined);
});

test(
	"rights, log and tip that were put back over a newer lease or version are noticed at the start",
	options,
	async (t) => {
		const { store, realm, runSql, reopen } = await setUp(t);
		const [before] = await runSql("SELECT max(seq) AS seq, (SELECT max(id) FROM svc.tip) AS tip FROM svc.audit_event");
		await store.leases.begin(aLease(realm.id), null, anEvent());
		await store.secrets.set(aVersion(realm.id, "KEY"), anEvent());
		await store.close();
		await runSql(
			`ALTER TABLE svc.audit_event DISABLE TRIGGER ALL; DELETE FROM svc.audit_event WHERE seq > ${before?.seq}; DELETE FROM svc.tip WHERE id > ${before?.tip}; ALTER TABLE svc.audit_event ENABLE TRIGGER ALL`,
		);
		const again = await reopen();
		const newer = ["rows of secret_version newer than the tip", "rows of lease newer than the tip"];
		assert.deepEqual(await again.health.alterations(), newer);
	},
);

test("an event that another program lets nobody find is altered", options, async (t) => {
	const { store, runSql } = await setUp(t);
	const data = { key: "DB_URL", environment: "prod", token_id: "a token" };
	await store.audit.append(anEvent({ data }));
	const { events } = await store.audit.verify([]);
	for (const [fact, value] of [...Object.entries(data), ["key_set", null]]) {
		const set = (to: string) =>
			runSql(
				`ALTER TABLE svc.audit_event DISABLE TRIGGER ALL; UPDATE svc.audit_event SET ${fact} = ${to} WHERE seq = ${events}; ALTER TABLE svc.audit_event ENABLE TRIGGER ALL`,
			);
		await set("'other'");
		assert.partialDeepStrictEqual(await store.audit.verify([]), { status: "altered", seq: events });
		await set(value === null ? "NULL" : `'${value}'`);
		assert.equal((await store.audit.verify([])).status, "intact");
	}
});

test("an event in the log can be neither changed nor taken away", options, async (t) => {
	const { runSql } = await setUp(t);
	for (const change of [
		"UPDATE svc.audit_event SET actor = ''",
		"DELETE FROM svc.audit_event",
		"TRUNCATE svc.audit_event",
	])
		await assert.rejects(runSql(change), /the audit log is not changed/);
});

test("two servers change one database in turn: one chain, one sum of rows, one first account", options, async (t) => {
	const { store, reopen } = await setUp(t);
	const other = await reopen();
	const start = await countEvents(store);
	const accounts = Array.from({ length: 20 }, () => anAccount());
	const made = await Promise.all(
		accounts.map((account, index) => (index % 2 === 0 ? store : other).accounts.register(account, anEvent())),
	);
	assert.ok(made.every((one) => one.outcome === "done" && !one.first));
	assert.equal(await countEvents(other), start + accounts.length);
	assert.ok(await isChainIntact(store));
	assert.deepEqual(await other.checkIntegrity(), { access: [], content: [] });
});

test("an operation that fails takes nothing of those that share its transaction with it", options, async (t) => {
	const { store, owner } = await setUp(t);
	const [good, bad, last] = [anAccount(), anAccount({ id: owner.id, email: "other@example.com" }), anAccount()];
	const outcomes = await Promise.allSettled([good, bad, last].map((one) => store.accounts.register(one, anEvent())));
	assert.deepEqual(
		outcomes.map(({ status }) => status),
		["fulfilled", "rejected", "fulfilled"],
	);
	assert.deepEqual([await store.accounts.byId(good.id), await store.accounts.byId(last.id)], [good, last]);
	assert.ok(await isChainIntact(store));
});

test("an error of the database says its code, and nothing of what was written", options, async (t) => {
	const { store, realm } = await setUp(t);
	const odd = { ...aVersion(realm.id, "KEY"), environment: "hidden" as "dev" };
	await assert.rejects(
		store.secrets.set(odd, anEvent()),
		({ message }: Error) => message === "the database refused the change: 23514",
	);
});

test("every text of the tables is compared as bytes", options, async (t) => {
	const { runSql } = await setUp(t);
	const other = await runSql(
		`SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = 'svc' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C' AND table_name <> 'migration'`,
	);
	assert.deepEqual(other, []);
});

test("a database of a newer program, or with another history, is refused", options, async (t) => {
	const { store, runSql, reopen } = await setUp(t);
	await store.close();
	await runSql("INSERT INTO svc.migration VALUES ('9999-later', '', '')");
	await assert.rejects(reopen(), /\bnewer svc\b/);
	await runSql(
		"DELETE FROM svc.migration WHERE name = '9999-later'; UPDATE svc.migration SET hash = 'other' WHERE name = '0003-log'",
	);
	await assert.rejects(reopen(), /\b0003-log /);
});

/** Alterations of the schema, each with what takes it back, and its name in health. */
const ALTERATIONS: readonly { by: string; back: string; found: string[] }[] = [
	{
		by: "CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER spy BEFORE INSERT ON svc.account FOR EACH ROW EXECUTE FUNCTION public.spy()",
		back: "DROP FUNCTION public.spy CASCADE",
		found: ["trigger account.spy"],
	},
	{
		by: "CREATE RULE spy AS ON UPDATE TO svc.binding DO INSTEAD NOTHING",
		back: "DROP RULE spy ON svc.binding",
		found: ["rule binding.spy"],
	},
	{
		by: "CREATE FUNCTION svc.spy() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		back: "DROP FUNCTION svc.spy",
		found: ["function spy()", "object function spy()"],
	},
	{
		by: "ALTER TABLE svc.session ENABLE ROW LEVEL SECURITY",
		back: "ALTER TABLE svc.session DISABLE ROW LEVEL SECURITY",
		found: ["relation session"],
	},
	{
		by: "CREATE TABLE public.more () INHERITS (svc.sso_used)",
		back: "DROP TABLE public.more",
		found: ["child public.more of sso_used"],
	},
	{
		by: "ALTER TABLE svc.account ALTER instance_admin SET DEFAULT true",
		back: "ALTER TABLE svc.account ALTER instance_admin DROP DEFAULT",
		found: ["column account.instance_admin"],
	},
	{
		by: "ALTER TABLE svc.audit_event DISABLE TRIGGER audit_event_stays",
		back: "ALTER TABLE svc.audit_event ENABLE TRIGGER audit_event_stays",
		found: ["trigger audit_event.audit_event_stays"],
	},
	{
		by: "CREATE OPERATOR svc.=== (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int)",
		back: "DROP OPERATOR svc.=== (int, int)",
		found: ["object operator ===(integer,integer)"],
	},
];

test(
	"an integrity check names whatever another program altered in the schema, until it is taken back",
	options,
	async (t) => {
		const { store, runSql } = await setUp(t);
		for (const { by, back, found } of ALTERATIONS) {
			await runSql(by);
			assert.deepEqual(await store.health.alterations(), found, by);
			await runSql(back);
			assert.deepEqual(await store.health.alterations(), [], back);
		}
	},
);

test("nothing is believed after a start over an altered schema", options, async (t) => {
	const { store, member, runSql, reopen } = await setUp(t);
	await store.close();
	await runSql("DROP INDEX svc.binding_by_user");
	const again = await reopen();
	assert.deepEqual(await again.health.alterations(), ["index binding_by_user", "relation binding_by_user"]);
	const late = anAccount();
	await again.accounts.register(late, anEvent());
	assert.equal(await again.accounts.byId(late.id), undefined);
	assert.notEqual(await again.accounts.byId(member.id), undefined);
});

test("an altered schema is not migrated", options, async (t) => {
	const { store, runSql, reopen } = await setUp(t);
	await store.close();
	const tables =
		"session_use, busy_caller, jwt_source, alteration, attempt, duty, challenge_count, sso_code, lease_claim, node, tip, audit_event, audit_checkpoint, audit_part_in_set, audit_key_set, audit_key_in_part, audit_key_part, audit_key";
	await runSql(
		`SET search_path = svc; DROP TABLE ${tables}; DROP FUNCTION keep_log; DROP INDEX secret_version_by_age; DROP INDEX invitation_by_email; CREATE INDEX invitation_by_email ON invitation (email, created_at); DELETE FROM migration WHERE name >= '0003-log'`,
	);
	await runSql("CREATE VIEW svc.spy AS SELECT 1 AS one");
	await assert.rejects(reopen(), /\(.*relation spy.*\)/);
	assert.equal((await runSql("SELECT 1 FROM pg_tables WHERE tablename = 'tip'")).length, 0);
	await runSql("DROP VIEW svc.spy");
	await (await reopen()).close();
	assert.equal((await runSql("SELECT 1 FROM pg_tables WHERE tablename = 'tip'")).length, 1);
});

test("text with U+0000 finds nothing, is refused in a change, and nothing else in it is", options, async (t) => {
	const { store, member } = await setUp(t);
	const isRefused = { name: "AppError", code: "validation_failed", status: 400 };
	assert.equal(await store.accounts.byEmail("a\0b@example.com"), undefined);
	const [odd, sound] = [{ ...anAccount(), name: "a\0b" }, anAccount()];
	const made = await Promise.allSettled([odd, sound].map((account) => store.accounts.register(account, anEvent())));
	assert.deepEqual(
		made.map(({ status }) => status),
		["rejected", "fulfilled"],
	);
	await assert.rejects(store.accounts.register(odd, anEvent()), isRefused);
	assert.notEqual(await store.accounts.byId(sound.id), undefined);
	assert.notEqual(await store.accounts.byId(member.id), undefined);
});
