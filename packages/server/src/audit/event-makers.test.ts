import assert from "node:assert/strict";
import { test } from "node:test";
import { EventMakers, type MakerFacts } from "./event-makers.ts";
import type { EventType } from "./event-types.ts";

const ADA = "01990000-0000-7000-8000-000000000001";
const BOB = "01990000-0000-7000-8000-000000000002";
const T0 = Date.parse("2030-01-01T00:00:00.000Z");

/** A log to which events are added, each some minutes after the first. */
function aLog() {
	const makers = new EventMakers();
	let seq = 0;
	return {
		/** Adds an event and names its makers that were not there. */
		add(minutes: number, type: EventType, facts: MakerFacts = {}, names: string[] = [], actor = ADA): string[] {
			const timestamp = new Date(T0 + minutes * 60_000).toISOString();
			const event = { seq: ++seq, timestamp, type, actor, realm_id: "", realm: "", data: "", hash: Buffer.of() };
			const rows = names.map((text) => {
				const [name = "", fingerprint] = text.split("=");
				return { name, fingerprint };
			});
			return makers.take(event, facts, rows, () => true).map(({ kind, id }) => `${kind} ${id}`);
		},
	};
}

const by = (token_id: string): MakerFacts => ({ request_id: "r", token_id });
const during = (session_id: string): MakerFacts => ({ request_id: "r", session_id });

test("events of an account, a session and a token that are there are not strange, until these end", () => {
	const log = aLog();
	const calm = [
		log.add(0, "auth.register", { request_id: "r" }, [`account/${ADA}=1`]),
		log.add(1, "auth.login", { request_id: "r" }, ["session/s=1"]),
		log.add(2, "auth.token.created", during("s"), ["api_token/t=1"]),
		log.add(3, "secret.set", by("t")),
		log.add(4, "auth.token.revoked", by("t"), ["api_token/t"]),
		log.add(5, "auth.logout", during("s"), ["session/s"]),
		log.add(6, "lease.revoked"),
	];
	assert.deepEqual(calm.flat(), []);
	assert.deepEqual(log.add(7, "secret.set", by("t")), ["token t"]);
	assert.deepEqual(log.add(8, "secret.set", during("s")), ["session s"]);
	assert.deepEqual(log.add(9, "secret.set", by("never")), ["token never"]);
	assert.deepEqual(log.add(10, "realm.created", { request_id: "r" }, [], BOB), [`account ${BOB}`]);
});

test("a request that had begun may still read for some minutes, and change nothing", () => {
	const log = aLog();
	log.add(0, "auth.register", { request_id: "r" }, [`account/${ADA}=1`, "api_token/t=1"]);
	log.add(1, "access.revoked", {}, ["api_token/t"]);
	assert.deepEqual(log.add(2, "secret.read", by("t")), []);
	assert.deepEqual(log.add(2, "lease.created", by("t")), []);
	assert.deepEqual(log.add(2, "secret.set", by("t")), ["token t"]);
	assert.deepEqual(log.add(20, "secret.read", by("t")), ["token t"]);
});

test("a disabled account makes no events until it is enabled", () => {
	const log = aLog();
	log.add(0, "auth.register", { request_id: "r" }, [`account/${ADA}=1`]);
	log.add(0, "auth.register", { request_id: "r" }, [`account/${BOB}=1`], BOB);
	log.add(1, "user.disabled", { request_id: "r", user_id: BOB }, [`account/${BOB}=2`]);
	assert.deepEqual(log.add(30, "secret.read", { request_id: "r" }, [], BOB), [`account ${BOB}`]);
	assert.deepEqual(log.add(31, "auth.login.failed", { request_id: "r" }, [], BOB), []);
	log.add(32, "user.enabled", { request_id: "r", user_id: BOB }, [`account/${BOB}=3`]);
	assert.deepEqual(log.add(33, "secret.set", { request_id: "r" }, [], BOB), []);
});

test("a token that expired makes no changes from that instant on", () => {
	const log = aLog();
	const expires_at = new Date(T0 + 10 * 60_000).toISOString();
	log.add(0, "auth.register", { request_id: "r" }, [`account/${ADA}=1`]);
	log.add(1, "auth.token.created", { request_id: "r", token_made: "t", expires_at }, ["api_token/t=1"]);
	assert.deepEqual(log.add(9, "secret.set", by("t")), []);
	assert.deepEqual(log.add(10, "secret.set", by("t")), ["token t"]);
	assert.deepEqual(log.add(11, "secret.read", by("t")), []);
	assert.deepEqual(log.add(60, "secret.read", by("t")), ["token t"]);
});

test("an event that ends its own maker is not strange, not even when other events name some of the rows before it", () => {
	const log = aLog();
	log.add(0, "auth.register", { request_id: "r" }, [`account/${ADA}=1`, "api_token/t=1"]);
	assert.deepEqual(log.add(1, "rows.changed", { of: "auth.token.revoked" }, ["api_token/t"]), []);
	assert.deepEqual(log.add(1, "auth.token.revoked", by("t"), ["api_token/u"]), []);
	assert.deepEqual(log.add(2, "secret.set", by("t")), ["token t"]);
});

test("a restore ends every session, and an adoption all that it does not name", () => {
	const log = aLog();
	log.add(0, "auth.login", {}, [`account/${ADA}=1`, "session/s=1", "session/u=1"]);
	log.add(1, "rows.adopted", {}, [`account/${ADA}=2`]);
	log.add(1, "rows.adopted", {}, ["session/u=2"]);
	assert.deepEqual(log.add(2, "secret.set", during("u")), []);
	assert.deepEqual(log.add(2, "secret.set", during("s")), ["session s"]);
	log.add(3, "backup.restored");
	assert.deepEqual(log.add(4, "secret.set", during("u")), ["session u"]);
});
