import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { secretPath, unique } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { type JsonRoute, type JsonRoutes, jsonRoutes } from "./json-routes.ts";

const MEBIBYTE = 1_048_576;
const PATIENCE_MS = 3_000;

let server: Server;
let client: Api;
let world: JsonRoutes;

before(async () => {
	server = await startServer();
	client = api(server);
	world = await jsonRoutes(client);
});
after(() => server.close());

function send({ path, token }: JsonRoute, raw: string | Buffer): Promise<Answer> {
	return client.post(path, undefined, { token, raw });
}

/** Sends the body to every route and expects 400 from each. */
async function refusedEverywhere(body: (route: JsonRoute) => string | Buffer): Promise<void> {
	for (const route of world.routes) {
		const answer = await send(route, body(route));
		assert.equal(answer.status, 400, `${route.path} answered ${answer.status}: ${answer.text.slice(0, 200)}`);
	}
}

/** Sends the body to every route and expects a refusal, or the value that the body states. */
async function survivedEverywhere(body: (route: JsonRoute) => string | Buffer): Promise<void> {
	for (const route of world.routes) {
		const answer = await send(route, body(route));
		assert.ok([200, 201, 400, 409].includes(answer.status), `${route.path} answered ${answer.status}: ${answer.text}`);
	}
}

function text(route: JsonRoute): string {
	return JSON.stringify(route.valid());
}

test("the bodies that the other tests spoil are accepted as they are", async () => {
	for (const route of world.routes) {
		const answer = await send(route, text(route));
		assert.ok([200, 201].includes(answer.status), `${route.path}: ${answer.text}`);
	}
	await client.delete(`/realms/${world.slug}/policy/bindings/${String(bindingUser())}`, { token: world.owner.token });
});

function bindingUser(): unknown {
	return world.routes.at(-1)?.valid().user_id;
}

for (const [what, spoil] of [
	["empty", () => ""],
	["white space", () => " \r\n\t"],
	["an open brace", () => "{"],
	["cut short", (whole: string) => whole.slice(0, -1)],
	["followed by another", (whole: string) => whole + whole],
	["followed by text", (whole: string) => `${whole} x`],
	["followed by NUL", (whole: string) => `${whole}\u0000`],
	["with a trailing comma", (whole: string) => `${whole.slice(0, -1)},}`],
	["with a comment", (whole: string) => `/* */${whole}`],
	["in single quotes", (whole: string) => whole.replaceAll('"', "'")],
	["with bare names", (whole: string) => whole.replaceAll(/"(\w+)":/g, "$1:")],
	["with a raw line feed in a string", () => '{"a":"\n"}'],
	["with a raw NUL in a string", () => '{"a":"\u0000"}'],
	["with a bad escape", () => '{"a":"\\x41"}'],
	["with half an escape", () => '{"a":"\\u00"}'],
	["NaN", () => '{"a":NaN}'],
	["infinite", () => '{"a":-Infinity}'],
	["a hexadecimal number", () => '{"a":0x10}'],
	["a number with a leading zero", () => '{"a":01}'],
	["a form", () => "key=value&value=x"],
	["XML", () => "<key>value</key>"],
	["the text undefined", () => "undefined"],
] as [string, (whole: string) => string][]) {
	test(`a body that is ${what} is refused as JSON`, async () => {
		for (const route of world.routes) refused(await send(route, spoil(text(route))), 400, "invalid_json");
	});
}

for (const body of ["[]", "[{}]", '"text"', "null", "true", "0", "-0", "1e400", '""']) {
	test(`the body ${body} is refused, because it is no object`, async () => {
		await refusedEverywhere(() => body);
	});
}

for (const [what, deep] of [
	["1 MiB of [", "[".repeat(MEBIBYTE)],
	["half a MiB of [ and as many ]", "[".repeat(MEBIBYTE / 2) + "]".repeat(MEBIBYTE / 2)],
	["100,000 objects in one another", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
] as const) {
	test(`${what} are refused immediately`, async () => {
		for (const route of world.routes) {
			const began = performance.now();
			const answer = await send(route, deep);
			assert.equal(answer.status, 400, answer.text.slice(0, 200));
			assert.ok(performance.now() - began < PATIENCE_MS);
		}
	});
}

test("deep nesting inside an otherwise valid body does no harm", async () => {
	for (const depth of [100, 5_000, 100_000]) {
		const deep = "[".repeat(depth) + "]".repeat(depth);
		await survivedEverywhere((route) => `${text(route).slice(0, -1)},"deep":${deep}}`);
	}
});

test("100,000 fields do no harm", async () => {
	const wide = Array.from({ length: 100_000 }, (_, index) => `"${index.toString(36)}":1`).join(",");
	assert.ok(wide.length < MEBIBYTE - 1_000);
	await survivedEverywhere((route) => `${text(route).slice(0, -1)},${wide}}`);
});

test("a field that is there twice is refused, or its last value counts", async () => {
	const key = unique("TWICE");
	const raw = `{"key":"${key}","value":"first","value":"second"}`;
	const { token } = world.owner;
	const answer = await client.post(`/realms/${world.slug}/secrets`, undefined, { token, raw });
	if (answer.status === 400) return;
	ok(answer, 201);
	assert.equal(ok(await client.get<Secret>(secretPath(world.slug, key), { token })).value, "second");
});

test("a byte order mark is refused or passed over, and never kept", async () => {
	await survivedEverywhere((route) => Buffer.from(`\ufeff${text(route)}`));
});

test("numbers beyond all limits do no harm", async () => {
	const numbers = ["1e400", "-1e400", "9007199254740993", "1e-400", "-0", "9".repeat(10_000)];
	await survivedEverywhere((route) => `${text(route).slice(0, -1)},"numbers":[${numbers.join(",")}]}`);
	for (const number of numbers) {
		const { token } = world.owner;
		const raw = `{"version":${number}}`;
		const answer = await client.post(`${secretPath(world.slug, "EXISTING")}/rollback`, undefined, { token, raw });
		assert.ok([400, 404].includes(answer.status), `${number.slice(0, 20)}: ${answer.text}`);
	}
});

test("a lone surrogate is refused in every field of every route", async () => {
	for (const route of world.routes) {
		for (const [field, value] of Object.entries(route.valid())) {
			if (typeof value !== "string") continue;
			for (const lone of ["\ud800", "\udc00", "a\udbffb", "\udc00\ud800"]) {
				const answer = await send(route, JSON.stringify({ ...route.valid(), [field]: value + lone }));
				// A reference to something that cannot exist may also be not found, or not be the password.
				assert.ok([400, 401, 403, 404].includes(answer.status), `${route.path} ${field}: ${answer.text}`);
			}
		}
	}
});

for (const wrong of [0, 1.5, true, false, [], ["a"], {}, { a: 1 }, [["a"]]]) {
	test(`${JSON.stringify(wrong)} is of the wrong type in every field that takes text`, async () => {
		for (const route of world.routes) {
			for (const [field, value] of Object.entries(route.valid())) {
				if (typeof value !== "string") continue;
				refused(await send(route, JSON.stringify({ ...route.valid(), [field]: wrong })), 400);
			}
		}
	});
}

for (const wrong of ["true", "", 0, 1, [], {}, [true]]) {
	test(`${JSON.stringify(wrong)} is no boolean and no version`, async () => {
		const { token } = world.owner;
		const body = { key: unique("KEY"), value: "svc:v1:x", pre_encrypted: wrong };
		refused(await client.post(`/realms/${world.slug}/secrets`, body, { token }), 400);
		if (typeof wrong === "number") return;
		const rollback = `${secretPath(world.slug, "EXISTING")}/rollback`;
		refused(await client.post(rollback, { version: wrong }, { token }), 400);
	});
}

test("a required field that is absent or null is missing, and an optional one is not", async () => {
	for (const route of world.routes) {
		for (const field of Object.keys(route.valid())) {
			for (const value of [undefined, null]) {
				const answer = await send(route, JSON.stringify({ ...route.valid(), [field]: value }));
				if (route.required.includes(field)) refused(answer, 400, "missing_field");
				else assert.ok([200, 201].includes(answer.status), `${route.path} ${field}: ${answer.text}`);
			}
		}
	}
});
