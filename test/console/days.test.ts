/* What happened day by day: drawn, as a table, and as a way into the list. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, enter } from "../harness/console.ts";
import { ok, refused } from "../harness/expect.ts";
import { bind, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;
let slug: string;

before(async () => {
	server = await startServer();
	client = api(server);
	[ada, bob] = [await person(client, "ada"), await person(client, "bob")];
	({ slug } = await realm(client, ada, "shop"));
	await bind(client, ada, slug, bob, "viewer");
});
after(() => server.close());

const today = () => new Date().toISOString().slice(0, 10);

/** Reads a page of the realm as a person gets it. */
async function read(path: string, who = ada): Promise<string> {
	const { status, text } = await ask(server, "GET", `/console/realms/${slug}${path}`, await enter(server, who));
	assert.equal(status, 200, path);
	return text;
}

/** Reads the last line of a day's table: the link, and the numbers. */
function lineOf(text: string, day: string): { to: string; counts: number[] } {
	const line = new RegExp(`<tr><th scope="row"><a href="([^"]+)"[^>]*>${day}</a></th>(.*?)</tr>`).exec(text);
	assert.ok(line, "a line for the day");
	const counts = [...(line[2] ?? "").matchAll(/>(\d+)</g)].map(([, count]) => Number(count));
	return { to: (line[1] ?? "").replaceAll("&amp;", "&"), counts };
}

test("the page Audit counts a realm's events and denials by day, and a day leads to its list", async () => {
	const before = lineOf(await read("/audit"), today()).counts;
	await secret(client, ada, slug, "A", "one");
	refused(
		await client.post(`/realms/${slug}/secrets`, { key: "B", value: "two" }, { token: bob.token }),
		403,
		"forbidden",
	);
	const text = await read("/audit");
	const { to, counts } = lineOf(text, today());
	const [events = 0, denied = 0] = before;
	assert.deepEqual(counts, [events + 2, denied + 1]);
	assert.match(text, new RegExp(`<title>${today()}: ${events + 2} events, ${denied + 1} denied</title>`));
	assert.match(text, /class="bad"/);
	const list = (await ask(server, "GET", to, await enter(server, ada))).text;
	assert.equal(list.match(/<th scope="row" class="type">/g)?.length, events + 2);
	assert.match(list, /class="whole chosen"/);
	assert.match(list, /aria-current="true"/);
});

test("a day keeps the other fields of the filter", async () => {
	const { to } = lineOf(await read("/audit?key=A&actor=&type=secret.*"), today());
	assert.match(to, new RegExp(`key=A&type=secret\\.\\*&since=${today()}&until=2`));
});

test("the page of a secret counts its reads by day, by anybody, single or bulk", async () => {
	await secret(client, ada, slug, "PAY", "one", { environment: "prod" });
	const reads = async () => /(\d+) reads? in 30 days/.exec(await read("/secrets/PAY?env=prod"))?.[1];
	assert.equal(await reads(), "0");
	ok(await client.get(`/realms/${slug}/secrets/PAY?env=prod`, { token: bob.token }));
	ok(await client.get(`/realms/${slug}/secrets?env=prod`, { token: bob.token }));
	ok(await client.get(`/realms/${slug}/secrets?env=prod&values=false`, { token: bob.token }));
	assert.equal(await reads(), "2");
	const text = await read("/secrets/PAY?env=prod");
	const { to, counts } = lineOf(text, today());
	assert.deepEqual(counts, [2]);
	const list = (await ask(server, "GET", to, await enter(server, ada))).text;
	assert.match(list, new RegExp(bob.email));
	assert.match(list, />secret\.list</);
	assert.match(await read("/audit?type=secret.list"), /without values/);
});

test("who read a secret is of its environment, with the chart of its reads there", async () => {
	for (const environment of ["dev", "prod"]) {
		await secret(client, ada, slug, "MIXED", "one", { environment });
		ok(await client.get(`/realms/${slug}/secrets/MIXED?env=${environment}`, { token: bob.token }));
	}
	ok(await client.get(`/realms/${slug}/secrets?env=prod`, { token: bob.token }));
	const to = /href="([^"]+)">Who read and wrote MIXED in prod</.exec(await read("/secrets/MIXED?env=prod"))?.[1] ?? "";
	const { text } = await ask(server, "GET", to.replaceAll("&amp;", "&"), await enter(server, ada));
	assert.deepEqual(lineOf(text, today()).counts, [2]);
	assert.match(text, /Reads of MIXED in prod a day/);
	const types = [...text.matchAll(/<th scope="row" class="type">([^<]+)</g)].map(([, type]) => type);
	assert.deepEqual(types, ["secret.list", "secret.read", "secret.set"]);
	assert.doesNotMatch(text, /environment dev/);
	assert.match(text, new RegExp(`svc audit list --realm ${slug} --key MIXED --env prod<`));
});

test("the way to the other lists of secrets is above the keys, however many there are", async () => {
	await secret(client, ada, slug, "A_KEY", "one");
	assert.match(await read(""), /Compare environments<\/a>.*Deleted secrets<\/a>.*<table/s);
});

test("keys are in the order of the alphabet, not of their writing", async () => {
	for (const key of ["Z_LAST", "M_MIDDLE", "A_FIRST"]) await secret(client, ada, slug, key, "one");
	const keys = [...(await read("")).matchAll(/<th scope="row" class="key"><a[^>]*>([^<]*)</g)].map(([, key]) => key);
	const [first, middle, last] = ["A_FIRST", "M_MIDDLE", "Z_LAST"].map((key) => keys.indexOf(key));
	assert.ok(Number(first) >= 0 && Number(first) < Number(middle) && Number(middle) < Number(last), keys.join());
});
