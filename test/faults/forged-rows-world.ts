import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { type Answer, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";
import { plainApi } from "./plain-api.ts";
import { runServer } from "./process.ts";

/** The answer of a verification. */
export interface Report {
	readonly status: string;
	readonly message: string;
	readonly differences: { kind: string; id: string; problem: string; seq?: number; since?: string }[];
}

/** The data directory of a server that stopped, and people whose rows are forged in copies of it. */
export interface ForgedRows {
	/** Folder with the copies, and with the directory as it once was, in `before`. */
	readonly root: string;
	readonly admin: Person;
	readonly member: Person;
	readonly realm_id: string;
	readonly slug: string;
	/** A valid token, and one that was revoked: `before` has the row of the second. */
	readonly standing: { id: string };
	readonly revoked: { id: string };
	/** Copies the directory, and changes the copy's database. */
	forgedCopy(change: (database: DatabaseSync) => void): string;
	/** Asks a server that runs on a data directory for a verification. */
	verified(data: string): Promise<Answer<Report>>;
	close(): Promise<void>;
}

/** Makes the data directory. */
export async function makeForgedRows(): Promise<ForgedRows> {
	const root = mkdtempSync(join(tmpdir(), "svc-forged-"));
	const honest = join(root, "honest");
	const server = await startServer();
	const client = api(server);
	const [admin, member] = [await person(client, "admin"), await person(client, "member")];
	const { id: realm_id, slug } = await realm(client, admin);
	for (const key of ["FIRST", "SECOND", "SECOND"]) await secret(client, admin, slug, key, "value");
	await bind(client, admin, slug, member, "viewer");
	const standing = await apiToken(client, member, "read", { realm: slug });
	const revoked = await apiToken(client, member, "read,write");
	await server.stop();
	spawnSync("cp", ["-a", `${server.data}/.`, join(root, "before")]);
	await server.restart();
	ok(await client.delete(`/auth/tokens/${revoked.id}`, { token: member.token }));
	await server.stop();
	spawnSync("cp", ["-a", `${server.data}/.`, honest]);
	return {
		...{ root, admin, member, realm_id, slug, standing, revoked },
		forgedCopy(change) {
			const data = mkdtempSync(join(root, "forged-"));
			assert.equal(spawnSync("cp", ["-a", `${honest}/.`, data]).status, 0);
			const database = new DatabaseSync(join(data, "svc.db"));
			change(database);
			database.close();
			return data;
		},
		async verified(data) {
			const run = await runServer({ data });
			try {
				return await plainApi(run.url).get<Report>("/audit/verify", { token: admin.token });
			} finally {
				await run.kill("SIGKILL");
			}
		},
		async close() {
			await server.close();
			rmSync(root, { recursive: true });
		},
	};
}

const KEPT = "kept_token";

/** SQL that changes rows as a database tool would, and the names in the report. */
export const FORGERIES: Readonly<Record<string, (world: ForgedRows) => [sql: string, named: string]>> = {
	"an account that became instance admin": ({ member }) => [
		`UPDATE account SET instance_admin = 1 WHERE id = '${member.id}'`,
		`account ${member.id} changed`,
	],
	"an account that was invented": () => [
		"INSERT INTO account SELECT 'invented', 'x@example.test', name, password, 1, NULL, created_at, mac FROM account LIMIT 1",
		"account invented unknown",
	],
	"an account that was deleted": ({ member }) => [
		`PRAGMA foreign_keys = OFF; DELETE FROM account WHERE id = '${member.id}'`,
		`account ${member.id} missing`,
	],
	"a realm that has another owner": ({ member, realm_id }) => [
		`UPDATE realm SET user_id = '${member.id}'`,
		`realm ${realm_id} changed`,
	],
	"a role that became a higher one": ({ member, realm_id }) => [
		"UPDATE binding SET role = 'admin'",
		`binding ${realm_id} ${member.id} changed`,
	],
	"a role that was taken away": ({ member, realm_id }) => [
		"DELETE FROM binding",
		`binding ${realm_id} ${member.id} missing`,
	],
	"a token with another scope": ({ standing }) => [
		`UPDATE api_token SET scopes = 'read,write,delete' WHERE id = '${standing.id}'`,
		`token ${standing.id} changed`,
	],
	"a token without its realm": ({ standing }) => [
		`UPDATE api_token SET realm_id = NULL WHERE id = '${standing.id}'`,
		`token ${standing.id} changed`,
	],
	"a token of another account": ({ admin, standing }) => [
		`UPDATE api_token SET user_id = '${admin.id}' WHERE id = '${standing.id}'`,
		`token ${standing.id} changed`,
	],
	"a token that was invented": () => [
		"INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, created_at) SELECT 'invented', user_id, '', '', zeroblob(32), 'read', '' FROM api_token LIMIT 1",
		"token invented unknown",
	],
	"a revoked token that was put back": ({ revoked, root }) => [
		`ATTACH '${join(root, "before", "svc.db")}' AS ${KEPT}; INSERT INTO main.api_token SELECT * FROM ${KEPT}.api_token WHERE id = '${revoked.id}'`,
		`token ${revoked.id} ended`,
	],
};

/** Tests a forgery: its name is in FORGERIES. */
export function testForgery(what: string, world: () => ForgedRows): void {
	test(`${what} makes the server refuse; adopting shows it, and verification names it with the event that says otherwise`, async () => {
		const { forgedCopy, verified } = world();
		const [sql, named] = FORGERIES[what]?.(world()) ?? assert.fail();
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
