import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { checkpointText, eventHash, eventId, GENESIS } from "./chain.ts";
import type { StoredEvent } from "./model.ts";

/** A fixed event and its expected hashes: a test vector for verifying a log elsewhere. */
const EVENT: Omit<StoredEvent, "hash"> = {
	seq: 1,
	timestamp: "2030-01-02T03:04:05.678Z",
	type: "secret.set",
	actor: "01980000-0000-7000-8000-000000000001",
	realm_id: "01980000-0000-7000-8000-000000000002",
	realm: "payments",
	data: '{"key":"DB/URL","environment":"prod","naïve":"ключ 🔑","version":1}',
};
const INPUT =
	"svc-audit-v1\n1\n0000000000000000000000000000000000000000000000000000000000000000\n" +
	"24:2030-01-02T03:04:05.678Z10:secret.set36:01980000-0000-7000-8000-00000000000136:01980000-0000-7000-8000-000000000002" +
	'8:payments74:{"key":"DB/URL","environment":"prod","naïve":"ключ 🔑","version":1}';
const HASH = "952ec1f066e26968ed3119ba513b64dd91981e5fb9daed77ebadc390140a26a1";
const SECOND = "a01a9a8f20ba9949df97e2189e750ab0efec6bcb05d96b98b837b6b6d0e2f308";
const ID = "952ec1f0-66e2-8968-ad31-19ba513b64dd";

test("the hash of a fixed event is the one of the test vector", () => {
	assert.equal(eventHash(GENESIS, EVENT).toString("hex"), HASH);
	assert.equal(createHash("sha256").update(INPUT).digest("hex"), HASH, "and the text that is hashed");
});

test("the hash of the event after it, which has no realm and no facts, is the one of the test vector", () => {
	const next = { ...EVENT, seq: 2, type: "auth.logout", realm_id: "", realm: "", data: "{}" };
	assert.equal(eventHash(Buffer.from(HASH, "hex"), next).toString("hex"), SECOND);
});

test("an event's id is the UUID of version 8 of the test vector", () => {
	assert.equal(eventId(Buffer.from(HASH, "hex")), ID);
});

test("every id is a UUID of version 8 and of the standard's variant", () => {
	for (let byte = 0; byte < 256; byte++) {
		const id = eventId(Buffer.alloc(32, byte));
		assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
	}
});

test("ids of different hashes differ, wherever in the first 16 bytes the hashes do", () => {
	const base = eventId(Buffer.alloc(32));
	for (let bit = 0; bit < 128; bit++) {
		const changed = Buffer.alloc(32);
		changed[bit >> 3] = 1 << (7 - (bit & 7));
		// Four bits are the version's and two the variant's.
		const isFixed = (bit >= 48 && bit < 52) || bit === 64 || bit === 65;
		assert.equal(eventId(changed) === base, isFixed, `bit ${bit}`);
	}
});

const FIELDS = ["timestamp", "type", "actor", "realm_id", "realm", "data"] as const;

test("a change of any field, of the number or of the event before changes the hash", () => {
	const seen = new Set([HASH]);
	for (const field of FIELDS) seen.add(eventHash(GENESIS, { ...EVENT, [field]: `${EVENT[field]}x` }).toString("hex"));
	seen.add(eventHash(GENESIS, { ...EVENT, seq: 2 }).toString("hex"));
	seen.add(eventHash(Buffer.alloc(32, 1), EVENT).toString("hex"));
	assert.equal(seen.size, FIELDS.length + 3);
});

test("text that moves from the end of a field to the start of the next changes the hash", () => {
	const at = (first: string, second: string, fields: readonly [string, string]) =>
		eventHash(GENESIS, { ...EVENT, [fields[0]]: first, [fields[1]]: second }).toString("hex");
	for (const [index, field] of FIELDS.entries()) {
		const next = FIELDS[index + 1];
		if (next === undefined) continue;
		const fields = [field, next] as const;
		assert.notEqual(at("ab", "c", fields), at("a", "bc", fields), `${field} and ${next}`);
		assert.notEqual(at("a1:b", "", fields), at("a", "b", fields), `${field} and ${next}`);
	}
});

/** Texts made to look like the encoding itself. */
const AWKWARD = ["", "0:", "1:", ":", "1", "a", "1:a", "0:0:", "\n", "2:é", "é", "e\u0301", "0:1:a", "1:a0:", "🔑"];

test("no two of thousands of events made of awkward fields have the same hash", () => {
	const seen = new Map<string, string>();
	for (const actor of AWKWARD) {
		for (const realm_id of AWKWARD) {
			for (const realm of AWKWARD) {
				const hash = eventHash(GENESIS, { ...EVENT, actor, realm_id, realm }).toString("hex");
				const fields = JSON.stringify([actor, realm_id, realm]);
				assert.equal(seen.get(hash), undefined, fields);
				seen.set(hash, fields);
			}
		}
	}
	assert.equal(seen.size, AWKWARD.length ** 3);
});

test("what a checkpoint signs names the event, the hash and the time, each on its line", () => {
	const text = checkpointText({ seq: 7, hash: Buffer.alloc(32, 0xab), timestamp: "2030-01-01T00:00:00.000Z" });
	assert.equal(text.toString(), `svc-audit-checkpoint-v1\n7\n${"ab".repeat(32)}\n2030-01-01T00:00:00.000Z\n`);
});
