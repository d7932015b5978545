import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { type Person, person, realm, secret } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let alice: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
	slug = (await realm(client, alice)).slug;
	for (const environment of ["dev", "prod"]) {
		await secret(client, alice, slug, "KEY", `of ${environment}`, { environment });
	}
});
after(() => server.close());

function get<T>(path: string): Promise<Answer<T>> {
	return client.get<T>(path, { token: alice.token });
}

for (const query of ["env=dev&env=prod", "env=prod&env=dev", "env=dev&env=", "env=&env=dev", "env=dev&env=nope"]) {
	test(`the repeated query ${query} is refused, or one of its values counts`, async () => {
		const answer = await get<Secret>(`/realms/${slug}/secrets/KEY?${query}`);
		if (answer.status === 400) refused(answer, 400);
		else assert.ok(query.split("&").includes(`env=${ok(answer).environment}`));
	});
}

for (const query of [
	"env[]=prod",
	"env[0]=prod",
	"env%00=prod",
	"ENV=prod",
	"Env=prod",
	"environment=prod",
	"env%20=prod",
]) {
	test(`the query ${query} is not env`, async () => {
		assert.equal(ok(await get<Secret>(`/realms/${slug}/secrets/KEY?${query}`)).environment, "dev");
	});
}

for (const query of [
	"",
	"&",
	"&&&",
	"=",
	"=dev",
	"a=b=c",
	"%",
	"%zz=1",
	"a=%E0%A4%A",
	"a=%00",
	"?",
	"?env=dev",
	"__proto__=x",
	"__proto__[env]=x",
]) {
	test(`the odd query ${JSON.stringify(query)} does no harm`, async () => {
		const answer = await get(`/realms/${slug}/secrets/KEY?${query}`);
		assert.ok([200, 400].includes(answer.status), answer.text);
	});
}

for (const value of ["%", "%zz", "%E0%A4%A", "%ff", "%00", "dev%00", "%64ev%20", "dev%0a"]) {
	test(`env=${value} is refused`, async () => {
		refused(await get(`/realms/${slug}/secrets/KEY?env=${value}`), 400, "invalid_environment");
	});
}

test("an encoded environment is the environment", async () => {
	assert.equal(ok(await get<Secret>(`/realms/${slug}/secrets/KEY?env=%70rod`)).value, "of prod");
	assert.equal(ok(await get<Secret>(`/realms/${slug}/secrets/KEY?%65nv=prod`)).value, "of prod");
});

for (const query of [
	"limit=5&limit=abc",
	"limit=abc&limit=5",
	"limit=5&limit=5",
	"limit[]=5",
	"include_total=maybe",
	"include_total=",
]) {
	test(`the query ${query} of a list is refused or harmless`, async () => {
		for (const path of ["/realms", `/realms/${slug}/secrets`, "/auth/tokens", "/audit/events", "/users"]) {
			const answer = await get(`${path}?${query}`);
			assert.ok([200, 400].includes(answer.status), answer.text);
		}
	});
}

test("a query of 10 KB is refused or harmless", async () => {
	const long = "x".repeat(10_240);
	for (const name of ["cursor", "limit", "env", "realm", "actor", "type", "unknown"]) {
		for (const path of ["/realms", `/realms/${slug}/secrets`, "/audit/events"]) {
			const answer = await get(`${path}?${name}=${long}`);
			assert.ok([200, 400, 404].includes(answer.status), `${path} ${name}: ${answer.text}`);
			assert.ok(!answer.text.includes("xxxx"), "nothing of it is echoed");
		}
	}
});

test("a thousand parameters do no harm", async () => {
	const many = Array.from({ length: 1_000 }, (_, index) => `p${index}=1`).join("&");
	assert.ok([200, 400].includes((await get(`/realms?${many}`)).status));
});

test("SQL in a query finds nothing and breaks nothing", async () => {
	for (const text of ["' OR 1=1 --", "'; DROP TABLE secrets; --", "%' OR '1'='1", "\\", "*", "a\u0000b"]) {
		const value = encodeURIComponent(text);
		assert.deepEqual(ok(await get<{ events: unknown[] }>(`/audit/events?type=${value}`)).events, []);
		assert.deepEqual(ok(await get<{ events: unknown[] }>(`/audit/events?actor=${value}`)).events, []);
	}
	ok(await get(`/realms/${slug}/secrets/KEY`));
});
