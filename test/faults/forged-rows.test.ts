import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { plainApi } from "./plain-api.ts";
import { runServer } from "./process.ts";

interface Report {
	readonly status: string;
	readonly message: string;
	readonly differences: { kind: string; id: string; problem: string; seq?: number; since?: string }[];
}

const root = mkdtempSync(join(tmpdir(), "svc-forged-"));
const honest = join(root, "honest");
let server: Server;
let admin: Person;
let member: Person;
let realm_id: string;
let slug: string;
/** A valid token, one that was revoked, and the row that the second had. */
let standing: { id: string };
let revoked: { id: string };
const KEPT = "kept_token";

before(async () => {
	server = await startServer();
	const client = api(server);
	admin = await person(client, "admin");
	member = await person(client, "member");
	const made = await realm(client, admin);
	({ id: realm_id, slug } = made);
	for (const key of ["FIRST", "SECOND", "SECOND"]) await secret(client, admin, slug, key, "value");
	await bind(client, admin, made.slug, member, "viewer");
	standing = await apiToken(client, member, "read", { realm: made.slug });
	revoked = await apiToken(client, member, "read,write");
	await server.stop();
	spawnSync("cp", ["-a", `${server.data}/.`, join(root, "before")]);
	await server.restart();
	ok(await api(server).delete(`/auth/tokens/${revoked.id}`, { token: member.token }));
	await server.stop();
	spawnSync("cp", ["-a", `${server.data}/.`, honest]);
});
after(async () => {
	await server.close();
	rmSync(root, { recursive: true });
});

/** SQL that changes rows as a database tool would, and the names in the report. */
const FORGERIES: Record<string, () => [sql: string, named: string]> = {
	"an account that became instance admin": () => [
		`UPDATE account SET instance_admin = 1 WHERE id = '${member.id}'`,
		`account ${member.id} changed`,
	],
	"an account that was invented": () => [
		"INSERT INTO account SELECT 'invented', 'x@example.test', name, password, 1, NULL, created_at, mac FROM account LIMIT 1",
		"account invented unknown",
	],
	"an account that was deleted": () => [
		`PRAGMA foreign_keys = OFF; DELETE FROM account WHERE id = '${member.id}'`,
		`account ${member.id} missing`,
	],
	"a realm that has another owner": () => [`UPDATE realm SET user_id = '${member.id}'`, `realm ${realm_id} changed`],
	"a role that became a higher one": () => [
		"UPDATE binding SET role = 'admin'",
		`binding ${realm_id} ${member.id} changed`,
	],
	"a role that was taken away": () => ["DELETE FROM binding", `binding ${realm_id} ${member.id} missing`],
	"a token with another scope": () => [
		`UPDATE api_token SET scopes = 'read,write,delete' WHERE id = '${standing.id}'`,
		`token ${standing.id} changed`,
	],
	"a token without its realm": () => [
		`UPDATE api_token SET realm_id = NULL WHERE id = '${standing.id}'`,
		`token ${standing.id} changed`,
	],
	"a token of another account": () => [
		`UPDATE api_token SET user_id = '${admin.id}' WHERE id = '${standing.id}'`,
		`token ${standing.id} changed`,
	],
	"a token that was invented": () => [
		"INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, created_at) SELECT 'invented', user_id, '', '', zeroblob(32), 'read', '' FROM api_token LIMIT 1",
		"token invented unknown",
	],
	"a revoked token that was put back": () => [
		`ATTACH '${join(root, "before", "svc.db")}' AS ${KEPT}; INSERT INTO main.api_token SELECT * FROM ${KEPT}.api_token WHERE id = '${revoked.id}'`,
		`token ${revoked.id} ended`,
	],
};

/** A copy of the honest data directory, after a change of its database. */
function forgedCopy(change: (database: DatabaseSync) => void): string {
	const data = mkdtempSync(join(root, "forged-"));
	assert.equal(spawnSync("cp", ["-a", `${honest}/.`, data]).status, 0);
	const database = new DatabaseSync(join(data, "svc.db"));
	change(database);
	database.close();
	return data;
}

/** The verification of a server that runs on a data directory. */
async function verified(data: string) {
	const run = await runServer({ data });
	try {
		return await plainApi(run.url).get<Report>("/audit/verify", { token: admin.token });
	} finally {
		await run.kill("SIGKILL");
	}
}

test("rows that the server wrote match the log", async () => {
	const looked = await runLocal(
		forgedCopy(() => undefined),
		["adopt", "--look", "--json"],
	);
	assert.deepEqual([looked.code, JSON.parse(looked.stdout).status], [0, "sound"]);
	const { status, differences } = ok(await verified(forgedCopy(() => undefined)));
	assert.deepEqual([status, differences], ["intact", []]);
});

for (const [what, forgery] of Object.entries(FORGERIES)) {
	test(`${what} makes the server refuse; adopting shows it, and verification names it with the event that says otherwise`, async () => {
		const [sql, named] = forgery();
		const data = forgedCopy((database) => database.exec(sql));
		refused(await verified(data), 503, "database_altered");
		const looked = await runLocal(data, ["adopt", "--look", "--json"]);
		const { status: seen, differences: all } = JSON.parse(looked.stdout) as Report;
		assert.deepEqual([looked.code, seen], [1, "altered"]);
		assert.ok(all.some(({ kind, id, problem }) => `${kind} ${id} ${problem}` === named));
		const adopted = await runLocal(data, ["adopt", "--again", "--yes"]);
		assert.equal(adopted.code, 0, adopted.stderr);
		assert.match(adopted.stderr, /\brows\b/);
		const [, shown] = /^not as the audit log says: (.+)$/m.exec(adopted.stderr) ?? [];
		assert.equal(shown?.replace(/( \(.*\))? is (\w+)(, against event \d+)?$/, " $2"), named);
		const { status, differences } = ok(await verified(data));
		assert.equal(status, "rows_differ");
		assert.deepEqual(
			differences.map(({ kind, id, problem }) => `${kind} ${id} ${problem}`),
			[named],
		);
		for (const { problem, seq, since = "" } of differences) {
			assert.equal(typeof seq, problem === "unknown" ? "undefined" : "number");
			assert.equal(Number.isNaN(Date.parse(since)), problem === "unknown");
		}
	});
}

/** Rows that grant something in a realm which nobody made. */
const INVENTED = `
INSERT INTO realm (id, slug, name, description, user_id, created_at) VALUES ('attic', 'attic', '', '', 'invented', '');
INSERT INTO machine (id, realm_id, name, role, scopes, environment, description, created_by, created_at) VALUES
  ('m1', 'attic', 'first', 'viewer', 'read', NULL, '', 'invented', ''), ('m2', 'attic', 'second', 'admin', 'read', 'prod', '', 'invented', '');
INSERT INTO machine_token (id, machine_id, name, prefix, digest, created_by, created_at, expires_at)
  VALUES ('t', 'm2', 'nightly', 'svc_', zeroblob(32), 'invented', '', '2030-01-01');
INSERT INTO trust (id, machine_id, name, type, issuer, audience, claims, max_ttl_ms, single_use, created_by, created_at)
  VALUES ('t', 'm2', 'ci', 'oidc', 'https://id.example.com', 'svc', '{}', 1, 1, 'invented', '');
INSERT INTO invitation (id, email, digest, created_by, created_at, expires_at)
  VALUES ('i', 'mallory@example.test', zeroblob(32), 'invented', '', '2030-01-01');`;

test("adopting shows by name what it would believe, after what does not fit, and no name moves the terminal's cursor", async () => {
	const hostile = "eve@example.test\u001b]0;pwned\u0007\u202e";
	const data = forgedCopy((database) => {
		database
			.prepare("INSERT INTO account (id, email, name, instance_admin, created_at) VALUES ('invented', ?, 'Eve', 1, '')")
			.run(hostile);
		database.prepare("UPDATE api_token SET name = ? WHERE id = ?").run("x".repeat(1000), standing.id);
		database.exec(INVENTED);
	});
	const { code, stdout, stderr } = await runLocal(data, ["adopt", "--again", "--yes"]);
	assert.equal(code, 0, stderr);
	assert.doesNotMatch((stdout + stderr).replaceAll("\n", ""), /[\p{Cc}\u202e]/u);
	const lines = stderr.trimEnd().split("\n");
	const from = lines.findIndex((line) => line.startsWith("would be believed: 3 accounts, "));
	assert.ok(lines.slice(0, from).every((line) => line.startsWith("not as ")) && from > 0, stderr);
	for (const line of [
		`instance admin ${admin.email}`,
		"instance admin eve@example.test\\u001b]0;pwned\\u0007\\u202e (Eve)",
		`realm ${slug} of ${admin.email}`,
		`role viewer of ${member.email} in realm ${slug}`,
		`API token ${"x".repeat(200)} of ${member.email}: scopes read, realm ${slug}, all environments, without an end`,
		"realm attic of eve@example.test",
		"machine attic/first of eve@example.test",
		"machine attic/second of eve@example.test\\u001b]0;pwned\\u0007\\u202e: admin, scopes read, environment prod",
		"token nightly of machine attic/second, made by eve@example.test",
		"trust ci of machine attic/second, made by eve@example.test",
		"invitation of mallory@example.test by eve@example.test",
	])
		assert.ok(
			lines.slice(from).some((one) => one.startsWith(line)),
			`${line}\n${stderr}`,
		);
});

const OF_SECOND = "(SELECT id FROM secret WHERE key = 'SECOND')";

/** Changes that would take a secret from an operator's cluster, or give it an older value. */
const LOSSES: Record<string, string> = {
	"a secret that was deleted": "DELETE FROM secret WHERE key = 'SECOND'",
	"a secret marked as deleted": "UPDATE secret SET deleted_at = '2030-01-01T00:00:00.000Z' WHERE key = 'SECOND'",
	"a secret in another environment": "UPDATE secret SET environment = 'prod' WHERE key = 'SECOND'",
	"a secret with another name": "UPDATE secret SET key = 'THIRD' WHERE key = 'SECOND'",
	"a secret whose current version is an older one": "UPDATE secret SET version = 1 WHERE key = 'SECOND'",
	"a current version that was deleted": `DELETE FROM secret_version WHERE version = 2 AND secret_id = ${OF_SECOND}`,
	"a current version that has expired": `UPDATE secret_version SET expires_at = '2020-01-01T00:00:00.000Z' WHERE secret_id = ${OF_SECOND}`,
};

for (const [what, sql] of Object.entries(LOSSES)) {
	test(`after ${what} by another program's hand an operator gets 503, never 404, an older value or a shorter map`, async () => {
		const data = forgedCopy((database) => database.exec(sql));
		const run = await runServer({ data });
		try {
			for (const path of [`/eso/${slug}?env=dev`, `/eso/${slug}/SECOND?env=dev`])
				refused(await plainApi(run.url).get(path, { token: admin.token }), 503, "unhealthy");
			assert.equal((await plainApi(run.url).get("/health")).status, 503);
		} finally {
			await run.kill("SIGKILL");
		}
	});
}

test("an operator gets every secret of a database that no other program wrote, from the first request on", async () => {
	const run = await runServer({ data: forgedCopy(() => undefined) });
	try {
		const { data } = ok(await plainApi(run.url).get<{ data: object }>(`/eso/${slug}?env=dev`, { token: admin.token }));
		assert.deepEqual(new Set(Object.keys(data)), new Set(["FIRST", "SECOND"]));
	} finally {
		await run.kill("SIGKILL");
	}
});
