import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Account } from "../accounts/model.ts";
import { AppError } from "../errors.ts";
import type { PageRequest } from "../pagination.ts";
import type { Actor } from "../policy/model.ts";
import type { Realm } from "../realms/model.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { actorOf } from "../testing/actor.ts";
import { countEvents } from "../testing/events.ts";
import { anEvent } from "../testing/rows.ts";
import { addAccount, addBinding, addRealm, openTestRules } from "../testing/rules.ts";
import type { Cleanup } from "../testing/store.ts";
import { type EventFilter, listEvents } from "./audit.ts";
import type { EventType } from "./event-types.ts";
import type { AuditEvent } from "./model.ts";

const ALL: PageRequest = { limit: 100 };

/** Sets up two realms, their people, and an event of everybody everywhere. `mark` tells events apart. */
async function setUp(t: Cleanup) {
	const rules = await openTestRules(t);
	const { store } = rules;
	const admin = await addAccount(store, { email: "admin@example.com" });
	const owner = await addAccount(store, { email: "owner@example.com" });
	const member = await addAccount(store, { email: "member@example.com" });
	const stranger = await addAccount(store, { email: "stranger@example.com" });
	const realm = await addRealm(store, owner, { slug: "first" });
	const other = await addRealm(store, owner, { slug: "second" });
	await addBinding(store, realm, member, "viewer");
	const start = await countEvents(store);
	const write = (mark: string, account: Account, where?: Realm, type: EventType = "secret.read") => {
		const realm: Partial<AuditEvent> = where === undefined ? {} : { realm_id: where.id, realm: where.slug };
		return store.audit.append(anEvent({ type, actor: account.id, data: { mark }, ...realm }));
	};
	for (const [name, account] of Object.entries({ admin, owner, member, stranger })) {
		await write(`${name} nowhere`, account, undefined, "auth.login");
		await write(`${name} in first`, account, realm);
		await write(`${name} in second`, account, other);
	}
	let asked = 0;
	const run: typeof rules.long_questions.run = (question, asker) => {
		asked += 1;
		return rules.long_questions.run(question, asker);
	};
	const counting = { ...rules, long_questions: { ...rules.long_questions, run } };
	const seen = async (actor: Actor, filter: EventFilter = {}) => {
		const { rows } = await listEvents(counting, actor, filter, ALL);
		return rows
			.filter((row) => row.seq > start)
			.map((row) => (JSON.parse(row.data) as { mark?: string }).mark ?? row.type);
	};
	return { ...rules, admin, owner, member, stranger, realm, other, write, seen, audit_asked: () => asked };
}

/** For tests that only look. */
const shared = await setUp({ after });

const IN_FIRST = ["stranger in first", "member in first", "owner in first", "admin in first"];

test("nobody looks through a realm's log for an e-mail that has no account", async (t) => {
	const { admin, owner, write, seen, audit_asked } = await setUp(t);
	await write("failed login", { ...admin, id: "typo@example.com" }, undefined, "auth.login.failed");
	const mistyped = { actor: "typo@example.com" };
	assert.deepEqual(await seen(actorOf(admin, { instance_admin: true }), mistyped), ["failed login"]);
	const before = audit_asked();
	assert.deepEqual(await seen(actorOf(owner), { ...mistyped, realm: "first" }), []);
	assert.equal(audit_asked(), before);
	assert.deepEqual(await seen(actorOf(owner), { actor: "member@", realm: "first" }), ["member in first"]);
	assert.equal(audit_asked(), before + 1);
});

test("an owner sees everything in the realms it owns, newest first, and nobody else's events elsewhere", async () => {
	const { owner, seen } = shared;
	assert.deepEqual(await seen(actorOf(owner)), [
		"stranger in second",
		"stranger in first",
		"member in second",
		"member in first",
		"owner in second",
		"owner in first",
		"owner nowhere",
		"admin in second",
		"admin in first",
	]);
});

test("a member sees all events of its realm, and its own outside any realm", async () => {
	const { member, seen } = shared;
	assert.deepEqual(await seen(actorOf(member)), [
		"stranger in first",
		"member in first",
		"member nowhere",
		"owner in first",
		"admin in first",
	]);
});

test("a member of no realm sees its own events outside any realm, not even its own inside one", async () => {
	const { stranger, seen } = shared;
	assert.deepEqual(await seen(actorOf(stranger)), ["stranger nowhere"]);
});

test("the instance admin sees everybody's events outside any realm, and nothing of realms it is not in", async () => {
	const { admin, seen } = shared;
	assert.deepEqual(await seen(actorOf(admin, { instance_admin: true })), [
		"stranger nowhere",
		"member nowhere",
		"owner nowhere",
		"admin nowhere",
	]);
});

test("a user whom others bound in ten thousand realms still sees the events of the own newest one", async (t) => {
	const { store, file, member, owner, seen, write } = await setUp(t);
	const otherWriter = openWriter(file);
	otherWriter.exec(
		"INSERT INTO realm (id, slug, name, description, user_id, created_at, bytes, keys) " +
			"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) " +
			`SELECT 'a' || i, 'a' || i, '', '', '${owner.id}', '', 0, 0 FROM n`,
	);
	otherWriter.exec(
		"INSERT INTO binding (id, realm_id, user_id, role, granted_by, created_at) " +
			`SELECT 'b' || id, id, '${member.id}', 'viewer', user_id, '' FROM realm WHERE id LIKE 'a%'`,
	);
	otherWriter.close();
	const newest = await addRealm(store, member, { id: "newest", slug: "newest" });
	await write("in the newest", owner, newest);
	assert.deepEqual(await seen(actorOf(member), { realm: "newest" }), ["in the newest", "realm.created"]);
});

test("a role that was taken away takes the realm's events with it", async (t) => {
	const { member, realm, seen, store } = await setUp(t);
	await store.policy.unbind({ realm_id: realm.id, user_id: member.id }, anEvent({ data: { mark: "unbound" } }));
	assert.deepEqual(await seen(actorOf(member)), ["member nowhere"]);
});

test("a token that is limited to a realm shows no other realm's events, also to an owner of both", async () => {
	const { owner, realm, seen } = shared;
	const marks = await seen(actorOf(owner, { token_id: "t", realm_id: realm.id }));
	assert.deepEqual(
		marks.filter((mark) => !mark.endsWith("nowhere")),
		IN_FIRST,
	);
});

test("a token of the instance admin that is limited to a realm does not show what others did outside realms", async () => {
	const { admin, realm, seen } = shared;
	const marks = await seen(actorOf(admin, { instance_admin: true, token_id: "t", realm_id: realm.id }));
	assert.deepEqual(
		marks.filter((mark) => mark !== "admin nowhere"),
		[],
	);
});

test("a realm's deletion is seen by its author and by the instance admin, its other events by nobody any more", async (t) => {
	const { owner, member, admin, realm, store, seen } = await setUp(t);
	const event = anEvent({ type: "realm.deleted", actor: owner.id, realm_id: realm.id, realm: realm.slug });
	await store.realms.remove({ id: realm.id, deleted_at: event.timestamp }, event);
	const of = async (actor: Actor) => (await seen(actor)).filter((mark) => !/nowhere|second/.test(mark));
	assert.deepEqual(await of(actorOf(owner)), ["realm.deleted"]);
	assert.deepEqual(await of(actorOf(admin, { instance_admin: true })), ["realm.deleted"]);
	assert.deepEqual(await of(actorOf(member)), []);
});

test("events of a deleted realm are not shown to the owner of a new one with the same name", async (t) => {
	const { owner, stranger, realm, store, seen } = await setUp(t);
	await store.realms.remove({ id: realm.id, deleted_at: "2030-01-01T00:00:00.000Z" }, anEvent({ actor: owner.id }));
	await addRealm(store, stranger, { slug: realm.slug });
	assert.deepEqual(await seen(actorOf(stranger), { realm: realm.slug }), ["realm.created"]);
});

test("filters narrow what may be seen and never widen it", async () => {
	const { owner, member, stranger, seen } = shared;
	assert.deepEqual(await seen(actorOf(owner), { realm: "first" }), IN_FIRST);
	assert.deepEqual(await seen(actorOf(member), { realm: "second" }), []);
	assert.deepEqual(await seen(actorOf(member), { actor: owner.id }), ["owner in first"]);
	assert.deepEqual(await seen(actorOf(stranger), { actor: owner.id }), []);
	assert.deepEqual(await seen(actorOf(member), { type: "auth.login" }), ["member nowhere"]);
	assert.deepEqual(await seen(actorOf(member), { type: "no.such.type" }), []);
	assert.deepEqual(await seen(actorOf(owner), { realm: "first", actor: owner.id, type: "secret.read" }), [
		"owner in first",
	]);
});

test("an actor is found by id and by e-mail, in any spelling that the e-mail may have", async () => {
	const { owner, seen } = shared;
	const expected = ["owner in second", "owner in first", "owner nowhere"];
	for (const name of [owner.id, owner.email, " OWNER@Example.com "]) {
		assert.deepEqual(await seen(actorOf(owner), { actor: name }), expected, name);
	}
});

test("a failed login of nobody is found by the e-mail that was tried", async (t) => {
	const { admin, store, seen } = await setUp(t);
	await store.audit.append(
		anEvent({ type: "auth.login.failed", actor: "nobody@example.com", data: { mark: "failed" } }),
	);
	assert.deepEqual(await seen(actorOf(admin, { instance_admin: true }), { actor: "Nobody@example.com" }), ["failed"]);
});

test("an e-mail finds what its account did, and what was logged under the e-mail before it had one", async (t) => {
	const { admin, store, seen } = await setUp(t);
	const late = { id: "late", email: "late@example.com" };
	for (const actor of [late.email, late.id])
		await store.audit.append(anEvent({ actor, data: { mark: `by ${actor}` } }));
	await addAccount(store, late);
	const found = await seen(actorOf(admin, { instance_admin: true }), { actor: late.email });
	assert.deepEqual(
		found.filter((mark) => mark.startsWith("by")),
		["by late", "by late@example.com"],
	);
});

test("pages follow each other without gap or repeat while new events come in, and count the whole", async (t) => {
	const { owner, write, realm, ...needs } = await setUp(t);
	const actor = actorOf(owner);
	const whole = (await listEvents(needs, actor, {}, ALL)).rows.map((row) => row.seq);
	const collected: number[] = [];
	let cursor: string | undefined;
	do {
		const page = await listEvents(needs, actor, {}, { limit: 4, cursor, include_total: "true" });
		collected.push(...page.rows.map((row) => row.seq));
		cursor = page.pagination.next_cursor;
		assert.equal(page.pagination.has_more, cursor !== undefined);
		assert.ok((page.pagination.total ?? 0) >= whole.length);
		await write("meanwhile", owner, realm);
	} while (cursor !== undefined);
	assert.deepEqual(collected, whole);
});

test("a cursor is valid for its caller and its filter only", async () => {
	const { owner, member, ...needs } = shared;
	const { pagination } = await listEvents(needs, actorOf(owner), { realm: "first" }, { limit: 1 });
	const isInvalid = (error: unknown) => error instanceof AppError && error.code === "invalid_cursor";
	const page = { limit: 1, cursor: pagination.next_cursor };
	assert.equal((await listEvents(needs, actorOf(owner), { realm: "first" }, page)).rows.length, 1);
	await assert.rejects(listEvents(needs, actorOf(owner), {}, page), isInvalid);
	await assert.rejects(listEvents(needs, actorOf(owner), { realm: "second" }, page), isInvalid);
	await assert.rejects(listEvents(needs, actorOf(member), { realm: "first" }, page), isInvalid);
});

test("the log is read with the scope read only", async () => {
	const { owner, ...needs } = shared;
	await assert.rejects(
		listEvents(needs, actorOf(owner, { scopes: ["write", "delete"] }), {}, ALL),
		(error) => error instanceof AppError && error.code === "insufficient_scope",
	);
});
