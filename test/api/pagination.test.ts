import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, fewAtOnce, login, type Person, person, realm, secret } from "../harness/fixtures.ts";
import type { Page } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const PEOPLE = 6;
const SECRETS = 105;

/** A list under test: the person who asks, the field that identifies its items, and their minimum number. */
interface List {
	readonly path: string;
	readonly name: string;
	readonly id: string;
	readonly usual: 25 | 50;
	readonly who: Person;
	readonly least: number;
}
type Items = Page & Readonly<Record<string, readonly Record<string, unknown>[]>>;

let server: Server;
let client: Api;
let alice: Person;
let bob: Person;
const lists = new Map<string, List>();

before(async () => {
	server = await startServer();
	client = api(server);
	const root = await person(client, "root");
	const people = await Promise.all(Array.from({ length: PEOPLE }, () => person(client, "somebody")));
	[alice, bob] = people as [Person, Person];
	const { slug } = await realm(client, alice);
	for (const who of people.slice(1)) await bind(client, alice, slug, who, "viewer");
	for (let count = 0; count < PEOPLE; count += 1) {
		await realm(client, alice);
		await apiToken(client, alice, "read");
		await login(client, alice);
		await secret(client, alice, slug, "VERSIONED", `value ${count}`, { environment: "prod" });
	}
	const keys = Array.from({ length: SECRETS }, (_, index) => `KEY_${index}`);
	await fewAtOnce(keys, (key) => secret(client, alice, slug, key, "a value"));
	const add = (name: string, path: string, id = "id", who = alice, least = PEOPLE - 1): unknown =>
		lists.set(name, { name, path, id, who, least, usual: name === "events" ? 50 : 25 });
	add("realms", "/realms");
	add("secrets", `/realms/${slug}/secrets`, "key", alice, SECRETS);
	add("tokens", "/auth/tokens");
	add("sessions", "/auth/sessions");
	add("bindings", `/realms/${slug}/policy/bindings`, "user_id");
	add("versions", `/realms/${slug}/secrets/VERSIONED/versions?env=prod`, "version");
	add("events", "/audit/events", "id", alice, SECRETS);
	add("users", "/users", "id", root);
});
after(() => server.close());

function listed(name: string): List {
	const list = lists.get(name);
	assert.ok(list);
	return list;
}

function ask({ path, who }: List, query: string): Promise<Answer<Items>> {
	return client.get(`${path}${path.includes("?") ? "&" : "?"}${query}`, { token: who.token });
}

/** Follows the cursors to the end, and runs `between` between two pages. */
async function walk(list: List, limit: number, between?: () => Promise<unknown>): Promise<unknown[]> {
	const seen: unknown[] = [];
	let cursor = "";
	for (let page = 0; page < 200; page += 1) {
		const body = ok(await ask(list, `limit=${limit}${cursor}`));
		seen.push(...(body[list.name] ?? []).map((item) => item[list.id]));
		const { has_more, next_cursor } = body.pagination;
		assert.equal(next_cursor !== undefined, has_more, "there is a cursor exactly when there is more");
		if (next_cursor === undefined) return seen;
		assert.match(next_cursor, /^[\w+/=-]+$/, "a cursor is base64");
		cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
		await between?.();
	}
	throw new Error("the pages have no end");
}

for (const name of ["realms", "secrets", "tokens", "bindings", "versions", "events", "users"]) {
	test(`${name}: pages of two, one after the other, give every item once`, async () => {
		const list = listed(name);
		const limit = list.least > 50 ? 40 : 2;
		const seen = await walk(list, limit);
		assert.equal(new Set(seen).size, seen.length);
		assert.ok(seen.length >= list.least, `${seen.length} items`);
	});

	test(`${name}: the total is there when it is asked for and only then`, async () => {
		const list = listed(name);
		const total = ok(await ask(list, "limit=1&include_total=true")).pagination.total;
		assert.ok(total !== undefined && total >= list.least, `a total of ${String(total)}`);
		for (const query of ["limit=1", "limit=1&include_total=false"]) {
			assert.ok(!("total" in ok(await ask(list, query)).pagination));
		}
	});

	for (const limit of ["0", "-1", "abc", "1.5", "", "0x10", "10x", "NaN", "null", "%00", "١٢"]) {
		test(`${name}: the limit ${limit} is refused`, async () => {
			refused(await ask(listed(name), `limit=${encodeURIComponent(limit)}`), 400, "invalid_limit");
		});
	}

	for (const limit of ["1e9", "9".repeat(400)]) {
		test(`${name}: the limit ${limit.slice(0, 10)} is refused or clamped`, async () => {
			const answer = await ask(listed(name), `limit=${limit}`);
			if (answer.status === 200) assert.ok((answer.body[name]?.length ?? 0) <= 100);
			else refused(answer, 400, "invalid_limit");
		});
	}

	test(`${name}: a cursor that the server did not make for this list is refused`, async () => {
		const list = listed(name);
		const other = listed(name === "realms" ? "tokens" : "realms");
		const cursorOf = async (one: List): Promise<string> =>
			ok(await ask(one, "limit=1")).pagination.next_cursor ?? assert.fail("no second page");
		const [own, foreign] = [await cursorOf(list), await cursorOf(other)];
		const middle = own.length >> 1;
		const altered = `${own.slice(0, middle)}${own[middle] === "A" ? "B" : "A"}${own.slice(middle + 1)}`;
		const made = Buffer.from(JSON.stringify({ id: "x", created_at: "2026-01-01T00:00:00Z" })).toString("base64url");
		for (const cursor of ["x", "%00", altered, own.slice(0, -1), `${own}A`, made, foreign, "A".repeat(10_240)]) {
			refused(await ask(list, `cursor=${cursor}`), 400, "invalid_cursor");
		}
	});
}

for (const [name, limit, expected] of [
	["secrets", "", 25],
	["secrets", "limit=100", 100],
	["secrets", "limit=101", 100],
	["secrets", "limit=1000000000", 100],
	["events", "", 50],
	["events", "limit=1000", 100],
] as const) {
	test(`${name} with ${limit || "no limit"} are ${expected}`, async () => {
		const body = ok(await ask(listed(name), limit));
		assert.equal(body[name]?.length, expected);
		assert.equal(body.pagination.has_more, true);
	});
}

test("the last page says so and has no cursor", async () => {
	assert.deepEqual(ok(await ask(listed("bindings"), "limit=100")).pagination, { has_more: false });
});

test("items that are added between two pages repeat and hide nothing", async () => {
	const list = listed("realms");
	const before = await walk(list, 100);
	const during = await walk(list, 2, () => realm(client, alice));
	assert.equal(new Set(during).size, during.length);
	for (const id of before) assert.ok(during.includes(id));
});

test("a cursor of one caller or realm is worth nothing to another", async () => {
	const list = listed("realms");
	const cursor = ok(await ask(list, "limit=1")).pagination.next_cursor ?? "";
	const answer = await ask({ ...list, who: bob }, `cursor=${encodeURIComponent(cursor)}`);
	const own = await walk({ ...list, who: bob }, 100);
	if (answer.status !== 200) refused(answer, 400, "invalid_cursor");
	for (const { id } of answer.body.realms ?? []) assert.ok(own.includes(id));
	const [one, two] = [await realm(client, alice), await realm(client, alice)];
	for (const key of ["A", "B"]) await secret(client, alice, one.slug, key, "a value");
	const page = { ...list, path: `/realms/${one.slug}/secrets` };
	const inner = ok(await ask(page, "limit=1")).pagination.next_cursor ?? "";
	const elsewhere = { ...list, path: `/realms/${two.slug}/secrets` };
	refused(await ask(elsewhere, `cursor=${encodeURIComponent(inner)}`), 400, "invalid_cursor");
});

test("providers, roles, engines and the operator's map are not paginated", async () => {
	for (const path of ["/auth/providers", "/policy/roles", "/engines"]) {
		const { body } = await client.get<object>(`${path}?limit=1`, { token: alice.token });
		assert.ok(!("pagination" in body), path);
	}
});
