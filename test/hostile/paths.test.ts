import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person, realm, secret } from "../harness/fixtures.ts";
import { exchangeBytes, statusesIn } from "../harness/raw.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	slug = (await realm(client, root)).slug;
	await secret(client, root, slug, "KEY", "a value");
	await secret(client, root, slug, "a/b", "a value");
});
after(() => server.close());

/** Paths below `/api/v1`; SLUG stands for the test's realm. */
const LEADING_NOWHERE = [
	...["/realms/", "/realms//", "//realms", "/./realms", "/x/../realms", "/realms/.", "/realms/..", "/realms/SLUG/"],
	...[
		"/realms/SLUG/../SLUG",
		"/realms/SLUG/./secrets",
		"/realms/SLUG//secrets",
		"/realms//SLUG",
		"/realms/SLUG/secrets/",
	],
	...[
		"/health/../users",
		"/auth/providers/../../users",
		"/health/..;/users",
		"/health/%2e%2e/users",
		"/health/.%2e/users",
	],
	...["/%2e%2e/v1/users", "/%2e/users", "/health%2f..%2fusers", "/health%2F%2e%2e%2Fusers", "/health%5c..%5cusers"],
	...["/REALMS", "/Realms", "/realms/SLUG/Secrets", "/users%00", "/users%20", "/users;x=1", "/users.json", "/users%2F"],
	...["/realms%2FSLUG", "/realms/SLUG%2Fsecrets", "/realms/SLUG%2fsecrets%2fKEY", "/realms/SLUG%00", "/realms/SLUG%0a"],
	...[
		"/realms/%00",
		"/realms/%",
		"/realms/%zz",
		"/realms/%E0%A4%A",
		"/realms/%ff",
		"/realms/%c0%af",
		"/realms/%ed%a0%80",
	],
	...[
		"/realms/SLUG/secrets/%",
		"/realms/SLUG/secrets/%E0%A4%A",
		"/realms/SLUG/secrets/%00",
		"/realms/SLUG/secrets/%ff",
	],
	...["/realms/SLUG/secrets/.", "/realms/SLUG/secrets/..", "/realms/SLUG/secrets/%2e", "/realms/SLUG/secrets/%2e%2e"],
	...["/realms/SLUG/secrets/%2e%2e%2fsecrets", "/realms/SLUG/secrets/x/../KEY", "/realms/SLUG/secrets/x%2f..%2fKEY"],
	...[
		"/realms/SLUG/secrets/a/b",
		"/realms/SLUG/secrets/a%252Fb",
		"/realms/SLUG/secrets/a%2Fb%2F",
		"/realms/SLUG/secrets/a%5Cb",
	],
	...[
		"/realms/SLUG/secrets/KEY%00",
		"/realms/SLUG/secrets/KEY%0A",
		"/realms/SLUG/secrets/KEY;x",
		"/realms/SLUG/secrets/KEY%3Fenv=dev",
	],
	...[
		"/eso/SLUG/",
		"/eso//KEY",
		"/eso/SLUG/..",
		"/eso/SLUG%2FKEY",
		"/eso/%E0%A4%A/KEY",
		"/eso/SLUG/%E0%A4%A",
		"/eso/SLUG/%00",
	],
	...["/health/", "/health//", "/health%2f", "/HEALTH", "/hea%00lth", "/openapi.json/", "/auth//login", "/auth/login/"],
	...[
		"/realms/__proto__",
		"/realms/constructor",
		"/__proto__",
		"/constructor",
		"/realms/SLUG/__proto__",
		"/realms/SLUG/secrets/__proto__",
	],
];

for (const path of LEADING_NOWHERE) {
	test(`${path} leads nowhere, by no method`, async () => {
		for (const method of ["GET", "POST", "DELETE"]) {
			const options = { token: root.token, ...(method === "POST" && { raw: "{}" }) };
			const answer = await client.send(method, `/api/v1${path.replaceAll("SLUG", slug)}`, options);
			assert.ok([400, 404, 405].includes(answer.status), `${method} answered ${answer.status} ${answer.text}`);
		}
		ok(await client.get(`/realms/${slug}/secrets/KEY`, { token: root.token }));
	});
}

for (const path of LEADING_NOWHERE.filter((one) => one.includes("users"))) {
	test(`${path} without a token gives nothing away`, async () => {
		const { status } = await client.get(path.replaceAll("SLUG", slug));
		assert.ok([400, 401, 404].includes(status));
	});
}

for (const path of [
	"/API/V1/health",
	"/api/V1/health",
	"//api/v1/health",
	"/api//v1/health",
	"/api/v1//health",
	"/metrics/",
	"/METRICS",
]) {
	test(`${path} is not another name of what it resembles`, async () => {
		const { status } = await client.send("GET", path);
		assert.ok([400, 404].includes(status));
	});
}

test("an encoded letter is the letter or nothing, and needs the same token", async () => {
	const path = "/%72ealms";
	assert.ok([200, 400, 404].includes((await client.get(path, { token: root.token })).status));
	assert.ok([400, 401, 404].includes((await client.get(path)).status));
});

for (const length of [1_000, 8_000]) {
	test(`a segment of ${length} characters is refused or not found`, async () => {
		const long = "x".repeat(length);
		for (const path of [
			`/${long}`,
			`/realms/${long}`,
			`/realms/${slug}/secrets/${long}`,
			`/eso/${long}/${long.slice(0, 100)}`,
		]) {
			const { status } = await client.get(path, { token: root.token });
			assert.ok([400, 404, 414, 431].includes(status), String(status));
		}
	});
}

test("a thousand segments are not found", async () => {
	const { status } = await client.get("/a".repeat(3_000), { token: root.token });
	assert.ok([400, 404, 414, 431].includes(status), String(status));
});

for (const [what, target] of [
	["a space", "/api/v1/realms/a b"],
	["raw UTF-8", "/api/v1/realms/\u00e9"],
	["a raw NUL", "/api/v1/realms/\u0000"],
	["a fragment", "/api/v1/health#fragment"],
	["a backslash", "/api/v1\\health"],
	["no leading slash", "api/v1/health"],
	["an asterisk", "*"],
	["nothing", ""],
	["a query alone", "?a=b"],
	["another scheme", "ftp://localhost/api/v1/users"],
	["user information", "https://root@localhost/api/v1/users"],
	["braces and quotes", '/api/v1/realms/{"a"}|^`<>'],
] as const) {
	test(`a request line with ${what} is refused, not found or harmless`, async () => {
		const received = await exchangeBytes(
			server,
			`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
		);
		const statuses = statusesIn(received);
		assert.ok(statuses.length <= 1);
		assert.ok(
			statuses.every((status) => [200, 400, 401, 404].includes(status)),
			received,
		);
		assert.ok(!received.includes(root.email));
	});
}
