import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createBulkReads } from "../audit/bulk-reads.ts";
import { AppError } from "../errors.ts";
import { jsonMember, streamItems } from "../streamed.ts";
import { actorOf } from "../testing/actor.ts";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { longestTurn } from "../testing/longest-turn.ts";
import { anEvent, aSession } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { createRewrites, deleteSecret } from "./deletion.ts";
import { diffSecrets } from "./diff.ts";
import { listSecrets, syncSecrets } from "./lists.ts";
import { type BulkNeeds, setSecret } from "./secrets.ts";
import { createWholeReads } from "./snapshot.ts";

const KIB = 1024;
const CONTROL = "\u0001".repeat(170 * 1000);

const rules = await openTestRules({ after });
const needs: BulkNeeds = {
	...rules,
	bulk_reads: createBulkReads(rules.store.audit),
	whole_reads: createWholeReads(),
	enforce_expiry: false,
	realm_bytes: 1024 ** 3,
};
const account = await addAccount(rules.store);
const session = aSession(account.id);
await rules.store.accounts.openSession({ session, password: account.password }, anEvent());
/** An actor of one request: it carries the rights that each rule has granted it. */
const newActor = () => actorOf(account, { jti: session.jti });
const actor = newActor();

let realms = 0;

/** Makes a realm with this many secrets. */
async function realmOf(count: number, value: string, environment: "dev" | "prod" = "prod"): Promise<string> {
	const slug = `realm-${++realms}`;
	await addRealm(rules.store, { id: actor.user_id }, { id: slug, slug, keyring: rules.keyring });
	await write(slug, count, value, environment);
	return slug;
}

async function write(slug: string, count: number, value: string, environment: "dev" | "prod"): Promise<void> {
	const given = { environment, value, comment: "", expires_at: null, pre_encrypted: false };
	const keys = Array.from({ length: count }, (_, at) => `KEY_${String(at).padStart(5, "0")}`);
	await Promise.all(keys.map((key) => setSecret(needs, newActor(), slug, { ...given, key })));
}

const newestEvent = async (realm_id: string) => {
	const query = { scopes: [{ realm_ids: [realm_id] }], realm: undefined, type: undefined, actors: undefined };
	const [event] = await rules.store.audit.list(query, undefined, 1);
	return event;
};

test("an operator's answer of 300 values of control characters leaves everybody else their turn and is never in memory as a whole", async () => {
	const slug = await realmOf(300, CONTROL);
	const { groups } = await syncSecrets(needs, actor, slug, "prod");
	const { pieces } = streamItems({ before: '{"data":{', groups, write: jsonMember, after: "}}" });
	const watch = longestTurn();
	const heap = process.memoryUsage().heapUsed;
	let highest = 0;
	let length = 0;
	let used = performance.now();
	for await (const piece of pieces) {
		length += piece.length;
		highest = Math.max(highest, process.memoryUsage().heapUsed - heap);
		if (performance.now() - used < 8) continue;
		await new Promise((resolve) => setImmediate(resolve));
		used = performance.now();
	}
	const { longest_ms } = watch.stop();
	assert.ok(length > 300 * 6 * CONTROL.length, `${length} characters`);
	assert.ok(longest_ms < 50, `a turn of ${longest_ms} ms`);
	assert.ok(highest < 150 * KIB * KIB, `${highest} bytes`);
});

test("an operator is answered one state, whatever is written meanwhile", async () => {
	const slug = await realmOf(40, "before".padEnd(30 * KIB));
	const { groups } = await syncSecrets(needs, actor, slug, "prod");
	const values: string[] = [];
	for await (const group of groups) {
		if (values.length === 0) await write(slug, 45, "after", "prod");
		for (const [, value] of group) values.push(value.trim());
	}
	assert.deepEqual(values, Array(40).fill("before"));
});

test("a value that goes in the middle ends the answer, it is never a shorter map", async () => {
	const slug = await realmOf(40, "x".repeat(30 * KIB));
	const { groups } = await syncSecrets(needs, actor, slug, "prod");
	let count = 0;
	const reading = async () => {
		for await (const group of groups) {
			count += group.length;
			await deleteSecret({ ...needs, rewrites: createRewrites() }, actor, {
				slug,
				environment: "prod",
				key: "KEY_00039",
			}).catch(() => undefined);
		}
	};
	await assert.rejects(reading, (error) => error instanceof AppError && error.code === "overloaded");
	assert.ok(count > 0 && count < 40);
});

test("the event of a list, a sync and a comparison is durable before the first value is read", async () => {
	const slug = await realmOf(3, "value");
	await write(slug, 2, "value", "dev");
	const facts = async () => {
		const event = await newestEvent(slug);
		return [event?.type, JSON.parse(event?.data ?? "{}").count];
	};
	let read = 0;
	const secrets = {
		...rules.store.secrets,
		versionsAt: (...args: Parameters<typeof rules.store.secrets.versionsAt>) => {
			read++;
			return rules.store.secrets.versionsAt(...args);
		},
	};
	const watched = { ...needs, store: { ...needs.store, secrets } };
	const sync = await syncSecrets(watched, actor, slug, "prod");
	assert.deepEqual(await facts(), ["secret.sync", 3]);
	const page = await listSecrets(watched, actor, slug, { asked: "dev", withValues: true }, { limit: 25 });
	assert.deepEqual(await facts(), ["secret.list", 2]);
	const diff = await diffSecrets(watched, actor, slug, { from: "dev", to: "prod" });
	assert.deepEqual(await facts(), ["secret.diff", 3]);
	assert.equal(read, 0);
	for (const { groups } of [sync, page, diff]) await Array.fromAsync(groups as AsyncIterable<unknown>);
	assert.ok(read >= 3);
});

test("a list without values reads none", async () => {
	const slug = await realmOf(3, "value");
	const secrets = { ...rules.store.secrets, versionsAt: () => Promise.reject(new Error("not asked for")) };
	const watched = { ...needs, store: { ...needs.store, secrets } };
	const { groups } = await listSecrets(watched, actor, slug, { asked: "prod", withValues: false }, { limit: 25 });
	const [listed = []] = await Array.fromAsync(groups);
	assert.deepEqual(
		listed.map(({ key, value, expires_at }) => [key, value, expires_at]),
		[0, 1, 2].map((at) => [`KEY_0000${at}`, undefined, null]),
	);
});

test("values are read at most 256 KiB or 200 rows at a time", async () => {
	const sizes: number[] = [];
	const secrets = {
		...rules.store.secrets,
		versionsAt: (refs: Parameters<typeof rules.store.secrets.versionsAt>[0]) => {
			sizes.push(refs.length);
			return rules.store.secrets.versionsAt(refs);
		},
	};
	const watched = { ...needs, store: { ...needs.store, secrets } };
	const read = async (count: number, value: string) => {
		sizes.length = 0;
		const { groups } = await syncSecrets(watched, actor, await realmOf(count, value), "prod");
		await Array.fromAsync(groups);
		return [...sizes];
	};
	assert.deepEqual(await read(450, "small"), [200, 200, 50]);
	assert.deepEqual(await read(7, "x".repeat(100 * KIB)), [2, 2, 2, 1]);
	assert.deepEqual(await read(2, "x".repeat(256 * KIB)), [1, 1]);
});

let large: Promise<string> | undefined;

/** A realm of more secrets than are read on this thread, made once. */
function largeRealm(): Promise<string> {
	large ??= realmOf(1100, "a value");
	return large;
}

test("more names than are read on this thread are one state, too, in the same order", async () => {
	const slug = await largeRealm();
	const { groups, held } = await syncSecrets(needs, actor, slug, "prod");
	const keys = (await Array.fromAsync(groups)).flat().map(([key]) => key);
	const expected = Array.from({ length: 1100 }, (_, at) => `KEY_${String(at).padStart(5, "0")}`);
	assert.deepEqual(keys, expected);
	assert.equal(held, 1100 * 3 * 8);
});

test("reading over a thousand secrets at once writes one event, as short as that of a few", async () => {
	for (const slug of [await realmOf(3, "a value"), await largeRealm()]) {
		const start = await countEvents(rules.store);
		await Array.fromAsync((await syncSecrets(needs, actor, slug, "prod")).groups);
		const page = { limit: 100, cursor: undefined };
		const { groups } = await listSecrets(needs, actor, slug, { asked: "prod", withValues: true }, page);
		await Array.fromAsync(groups);
		await Array.fromAsync((await diffSecrets(needs, actor, slug, { from: "prod", to: "dev" })).groups);
		const events = await eventsAfter(rules.store, start, [slug]);
		assert.deepEqual(
			events.map(([type]) => type),
			["secret.sync", "secret.list", "secret.diff"],
		);
		for (const [type, data] of events) assert.ok(JSON.stringify(data).length < 250, `${type} of ${slug}`);
	}
});

test("a page and its total are questions of which the account asks one at a time", async () => {
	const slug = await realmOf(2, "value");
	const { secrets } = rules.store;
	let turn = 0;
	const asked: [what: string, turn: number][] = [];
	const note = <Run extends (...args: never[]) => unknown>(what: string, ask: Run) =>
		((...args: never[]) => {
			asked.push([what, turn]);
			return ask(...args);
		}) as Run;
	const store = { ...rules.store, secrets: { ...secrets, list: note("page", secrets.list) } };
	store.secrets.count = note("total", secrets.count);
	const whole_reads: BulkNeeds["whole_reads"] = {
		run: (task, caller) => {
			turn++;
			return needs.whole_reads.run(task, caller);
		},
	};
	const page = { limit: 1, include_total: "true" } as const;
	const given = { asked: undefined, withValues: false };
	const { pagination } = await listSecrets({ ...needs, store, whole_reads }, newActor(), slug, given, page);
	assert.equal(pagination.total, 2);
	assert.deepEqual(asked, [
		["page", 1],
		["total", 2],
	]);
});
