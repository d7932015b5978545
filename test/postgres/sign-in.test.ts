/* How the server proves itself to PostgreSQL, and PostgreSQL to the server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { startServer } from "../harness.ts";
import { createIdentity } from "../peers/identity.ts";
import { createDatabase, type Postgres, runSql, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };
const PASSWORD = "p@ss/wörd:%";
/** sysexits EX_CONFIG. */
const REFUSED = /ended with exit code 78 /;

const ends = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), "svc-sign-in-"));
const ca = join(folder, "ca.crt");
const strangers = join(folder, "strangers.crt");
const password = join(folder, "password");
let postgres: Postgres;

after(async () => {
	await ends.disposeAsync();
	rmSync(folder, { recursive: true });
});
before(async () => {
	if (skipWithoutPostgres !== false) return;
	const [identity, stranger] = await Promise.all([createIdentity(["localhost"]), createIdentity(["localhost"])]);
	writeFileSync(ca, identity.ca);
	writeFileSync(strangers, stranger.ca);
	writeFileSync(password, `${PASSWORD}\n`, { mode: 0o600 });
	postgres = await startPostgres({
		identity,
		access: [
			"local all all trust",
			"host all svc 127.0.0.1/32 trust",
			"hostssl all ada 127.0.0.1/32 scram-sha-256",
			"hostssl all ada ::1/128 scram-sha-256",
		],
	});
	ends.defer(postgres.stop);
	createDatabase(postgres, "svc_signed");
	runSql(
		postgres,
		"svc_signed",
		`CREATE ROLE ada LOGIN PASSWORD '${PASSWORD}'; ALTER DATABASE svc_signed OWNER TO ada`,
	);
});

const urlOf = (host: string, authority: string, more = "") =>
	`postgres://ada${more}@${host}:${postgres.port}/svc_signed?sslmode=verify-full&sslrootcert=${authority}`;

test("the server signs in with a password over TLS, and shows the password nowhere", options, async () => {
	const env = { SVC_DATABASE_URL: urlOf("localhost", ca), SVC_DATABASE_PASSWORD_FILE: password };
	const server = await startServer({ env });
	await using _ = { [Symbol.asyncDispose]: () => server.close() };
	ok(await api(server).get("/health"));
	const used = runSql(
		postgres,
		"svc_signed",
		"SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'ada'",
	);
	assert.equal(used, "t");
	assert.ok(!`${server.stdout()}${server.stderr()}`.includes(PASSWORD));
});

const REFUSALS: Record<string, () => Record<string, string>> = {
	"of another authority": () => ({ SVC_DATABASE_URL: urlOf("localhost", strangers) }),
	"for another name": () => ({ SVC_DATABASE_URL: urlOf("127.0.0.1", ca) }),
};

for (const [what, env] of Object.entries(REFUSALS))
	test(`a PostgreSQL whose certificate is ${what} gets no password`, options, async () => {
		const given = { ...env(), SVC_DATABASE_PASSWORD_FILE: password };
		await assert.rejects(startServer({ env: given }), REFUSED);
	});

test("a wrong password is refused, and repeated nowhere", options, async () => {
	const env = { SVC_DATABASE_URL: urlOf("localhost", ca, ":CANARY") };
	await assert.rejects(startServer({ env }), (error) => REFUSED.test(String(error)) && !/CANARY/.test(String(error)));
});

test("a PostgreSQL beyond this machine is not asked without TLS", options, async () => {
	const env = { SVC_DATABASE_URL: "postgres://ada@192.0.2.1/svc?sslmode=disable" };
	await assert.rejects(startServer({ env }), REFUSED);
});
