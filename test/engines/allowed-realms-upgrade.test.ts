/* A database of the release before configurations named realms. Its realms: used (keyvalue, pki), certified (pki), own (its own keyvalue), fresh. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { runLocal } from "../backup/local.ts";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { type Server, startServer } from "../harness.ts";
import before_realms from "./fixtures/before-engine-realms.json" with { type: "json" };

const FILE = join(import.meta.dirname, "fixtures/before-engine-realms.db.gz");
const { token, authority } = before_realms;

let server: Server;
let client: Api;

before(async () => {
	server = await startServer();
	await server.stop();
	for (const file of ["svc.db-wal", "svc.db-shm", "adopted"]) rmSync(join(server.data, file), { force: true });
	writeFileSync(join(server.data, "svc.db"), gunzipSync(readFileSync(FILE)), { mode: 0o600 });
	chmodSync(join(server.data, "master.key"), 0o600);
	writeFileSync(join(server.data, "master.key"), before_realms.master_key, { mode: 0o600 });
	const { code, stderr } = await runLocal(server.data, ["adopt", "--yes"]);
	assert.equal(code, 0, stderr);
	await server.restart();
	client = api(server);
});
after(() => server.close());

const keyvalue = (slug: string) => client.post(`/realms/${slug}/engines/keyvalue/generate`, {}, { token });

async function authorityOf(slug: string): Promise<string> {
	const path = `/realms/${slug}/engines/pki/generate`;
	return ok(await client.post<{ ca_certificate: string }>(path, { common_name: "app" }, { token })).ca_certificate;
}

/** Returns the realms that doctor lists because no configuration names them. */
async function allowed(): Promise<string[]> {
	const { checks } = ok(await client.get<{ checks: { name: string; message: string }[] }>("/doctor", { token }));
	return checks.flatMap(({ name, message }) => {
		const [, realms] = /\brealms\b.*: ([\w, ]+)$/.exec(message) ?? [];
		return realms === undefined ? [] : [`${name}: ${realms}`];
	});
}

const set = (type: string, fields: object) =>
	client.send<{ allowed_realms: string[] }>("PUT", `/api/v1/engines/${type}/config`, {
		token,
		raw: JSON.stringify(fields),
	});

test("a configuration from before serves the realms that have used it, and no other", async () => {
	refused(await keyvalue("used"), 503, "engine_unavailable");
	for (const slug of ["certified", "fresh"]) refused(await keyvalue(slug), 400, "engine_not_configured");
	refused(await keyvalue("own"), 503, "engine_unavailable");
	ok(await client.delete("/realms/own/engines/keyvalue/config", { token }));
	refused(await keyvalue("own"), 400, "engine_not_configured");
});

test("the authority from before stays with the realms that have used it; others get their own", async () => {
	for (const slug of ["used", "certified"]) assert.equal(await authorityOf(slug), authority);
	const others = [await authorityOf("own"), await authorityOf("fresh")];
	assert.equal(new Set([authority, ...others]).size, 3);
	assert.equal(await authorityOf("fresh"), others[1], "permanently");
});

test("doctor lists both until realms are named, and what is shown can be set", async () => {
	assert.deepEqual(await allowed(), ["keyvalue: used", "pki: certified, used"]);
	const { status: _, ...shown } = ok(
		await client.get<{ status: string; allowed_realms: string[] }>("/engines/keyvalue/config", { token }),
	);
	assert.deepEqual(shown.allowed_realms, ["used"]);
	ok(await set("keyvalue", { ...shown, allowed_realms: [...shown.allowed_realms, "fresh"] }));
	for (const slug of ["used", "fresh"]) refused(await keyvalue(slug), 503, "engine_unavailable");
	refused(await keyvalue("certified"), 400, "engine_not_configured");
	assert.equal((await allowed()).length, 1);
});

test("naming realms takes the shared authority from the others, and gives it to no new one", async () => {
	const [fresh] = [await authorityOf("fresh")];
	ok(await set("pki", { allowed_realms: ["used", "fresh"] }));
	assert.deepEqual(await allowed(), []);
	assert.equal(await authorityOf("used"), authority);
	assert.equal(await authorityOf("fresh"), fresh);
	const certified = await authorityOf("certified");
	assert.notEqual(certified, authority);
	ok(await client.delete("/engines/pki/config", { token }));
	assert.equal(await authorityOf("certified"), certified, "nor does it come back");
	await server.restart();
	client = api(server);
	assert.equal(await authorityOf("used"), authority);
});
