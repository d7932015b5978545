/* The exported log: the client recomputes the hashes of the server. */
import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { bind, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

interface Exported {
	readonly seq: number;
	readonly timestamp: string;
	readonly type: string;
	readonly actor: string;
	readonly realm: string;
	readonly previous_hash: string;
	readonly hash: string;
}

interface Verified {
	readonly status: string;
	readonly events: number;
	readonly gaps: number;
	readonly anchored: boolean;
	readonly last_seq: number;
	readonly last_hash: string;
}

let server: Server;
let client: Api;
let root: Person;
let ada: Person;
let slug: string;
let cli: Cli;
let file: string;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	ada = await person(client, "ada");
	slug = (await realm(client, root)).slug;
	cli = await createCli(server, root);
	file = join(cli.home, "audit.jsonl");
	// More than one page.
	for (let count = 0; count < 130; count += 1) await secret(client, root, slug, "KEY", `ä ${count}`);
	ok(await client.post(`/realms/${slug}/secrets`, { key: "KEY", value: "v" }, { token: root.token }), 201);
});
after(async () => {
	await cli.close();
	await server.close();
});

async function svc(code: number, ...words: string[]): Promise<string> {
	const outcome = await cli.run(words);
	assert.equal(outcome.code, code, `svc ${words.join(" ")}: ${outcome.stdout}${outcome.stderr}`);
	return outcome.stdout;
}

const readExport = async (): Promise<Exported[]> =>
	(await readFile(file, "utf8"))
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
const verify = async (code: number, ...more: string[]): Promise<Verified> =>
	JSON.parse(await svc(code, "audit", "verify", "--file", file, "--json", ...more));

test("the whole log is exported oldest first while events are added, and its chain holds outside", async () => {
	const done = new AbortController();
	const writing = (async () => {
		while (!done.signal.aborted) await secret(client, root, slug, "BUSY", "v");
	})();
	await svc(0, "audit", "export", "--output", file);
	done.abort();
	await writing;
	const events = await readExport();
	assert.deepEqual(
		events.map(({ seq }) => seq),
		events.map((_, index) => index + 1),
	);
	assert.ok(events.length > 130);
	assert.equal((await stat(file)).mode & 0o777, 0o600);
	assert.deepEqual(await readdir(cli.home), ["audit.jsonl", "server.pem"]);
	const { hash, seq } = events.at(-1) ?? assert.fail("no event");
	assert.partialDeepStrictEqual(await verify(0), {
		status: "intact",
		events: seq,
		gaps: 0,
		last_seq: seq,
		last_hash: hash,
	});
	const server = ok(await client.get(`/audit/verify?seq=${seq}&hash=${hash}`, { token: root.token }));
	assert.partialDeepStrictEqual(server, { status: "intact", anchored: true });
});

test("an export ends with what was the newest event at its first page", async () => {
	interface Page {
		readonly events: Exported[];
		readonly pagination: { readonly next_cursor?: string };
	}
	const page = async (cursor = "") =>
		ok(await client.get<Page>(`/audit/export?limit=100${cursor && `&cursor=${cursor}`}`, { token: root.token }));
	let { events, pagination } = await page();
	const { last_seq } = ok(await client.get<Verified>("/audit/verify", { token: root.token }));
	for (let pages = 0; pagination.next_cursor !== undefined; pages += 1) {
		assert.ok(pages < 10, "it goes on forever");
		await secret(client, root, slug, "LATER", "v");
		({ events, pagination } = await page(pagination.next_cursor));
	}
	assert.equal(events.at(-1)?.seq, last_seq);
});

test("an export that was altered or cut off differs from one that was not", async () => {
	const text = await readFile(file, "utf8");
	const { seq, hash } = (await readExport()).at(-1) ?? assert.fail("no event");
	const anchor = ["--seq", String(seq), "--hash", hash];
	assert.equal((await verify(0, ...anchor)).anchored, true);
	await writeFile(file, text.replace("secret.set", "secret.get"));
	assert.equal((await verify(1)).status, "altered");
	await writeFile(file, `${text.split("\n").slice(0, -3).join("\n")}\n`);
	assert.equal((await verify(0)).status, "intact");
	assert.equal((await verify(1, ...anchor)).status, "truncated");
	assert.match(await svc(1, "audit", "verify", "--file", file, ...anchor), /not met/);
	await writeFile(file, text);
	await svc(2, "audit", "verify", "--file", file, "--seq", "1");
	await svc(2, "audit", "verify", "--file", `${file}.none`);
	const online = JSON.parse(await svc(0, "audit", "verify", ...anchor, "--json"));
	assert.equal(online.anchored, true);
	await svc(1, "audit", "verify", "--seq", String(seq), "--hash", "00".repeat(32));
});

test("an export holds what its maker may see, of a realm and a time when these are named", async () => {
	await bind(client, root, slug, ada, "viewer");
	const page = async (who: Person, query: string) =>
		ok(await client.get<{ events: Exported[] }>(`/audit/export?limit=100&${query}`, { token: who.token })).events;
	const hers = await page(ada, "");
	assert.ok(hers.some((event) => event.type === "auth.login") && hers.some((event) => event.realm === slug));
	assert.ok(hers.every((event) => event.realm === slug || event.actor === ada.id));
	const events = (await readExport()).filter((event) => event.realm === slug);
	const [from, until] = [events[10]?.timestamp ?? "", events[20]?.timestamp ?? ""];
	const stretch = await page(ada, `realm=${slug}&since=${from}&until=${until}`);
	assert.deepEqual(
		stretch.map(({ seq }) => seq),
		events.filter(({ timestamp }) => timestamp >= from && timestamp < until).map(({ seq }) => seq),
	);
	assert.ok(stretch.length > 0);
	await svc(0, "audit", "export", "--realm", slug, "--since", from, "--output", file);
	assert.equal((await verify(0)).status, "intact");
	const stranger = await person(client, "stranger");
	assert.deepEqual(await page(stranger, `realm=${slug}`), []);
	refused(await client.get("/audit/export?since=yesterday", { token: root.token }), 400, "validation_failed");
	await svc(2, "audit", "export", "--since", "yesterday", "--output", join(cli.home, "none"));
	assert.ok(!(await readdir(cli.home)).includes("none"));
});
