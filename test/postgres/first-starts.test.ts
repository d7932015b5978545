/* Two servers that start on an empty database of a real PostgreSQL, and nobody has registered. */
import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { PASSWORD } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { createDatabase, runSql, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };
const DATABASE = "svc_first";

const ends = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), "svc-first-"));
let postgres: Awaited<ReturnType<typeof startPostgres>>;
let here: Server;
let there: Server;

after(async () => {
	await ends.disposeAsync();
	rmSync(folder, { recursive: true });
});
before(async () => {
	if (skipWithoutPostgres !== false) return;
	postgres = await startPostgres();
	ends.defer(postgres.stop);
	const SVC_MASTER_KEY_FILE = join(folder, "master.key");
	writeFileSync(SVC_MASTER_KEY_FILE, randomBytes(32), { mode: 0o400 });
	const env = {
		...{ SVC_DATABASE_URL: createDatabase(postgres, DATABASE), SVC_MASTER_KEY_FILE },
		SVC_REGISTRATION_MODE: "admin",
	};
	const start = async () => {
		const server = await startServer({ env });
		ends.defer(server.close);
		return server;
	};
	[here, there] = await Promise.all([start(), start()]);
});

const fileOf = ({ data }: Server, name: string) => join(data, name);

test("both servers show one fingerprint, also after a restart without the file", options, async () => {
	const { fingerprint256 } = new X509Certificate(here.ca);
	assert.equal(new X509Certificate(there.ca).fingerprint256, fingerprint256);
	await there.stop();
	for (const name of ["tls.crt", "tls.key"]) rmSync(fileOf(there, name));
	await there.restart();
	assert.equal(new X509Certificate(there.ca).fingerprint256, fingerprint256);
});

test("the database has neither the certificate's key nor the setup code in clear", options, () => {
	const rows = runSql(postgres, DATABASE, "SELECT name, value FROM svc.meta WHERE name LIKE 'common.%' ORDER BY name");
	assert.match(rows, /common\.certificate.*common\.setup_code/s);
	assert.ok(!rows.includes(readFileSync(fileOf(here, "setup-code"), "utf8").trim()));
	assert.doesNotMatch(rows, /PRIVATE|CERTIFICATE-/);
});

test("the setup code that one server shows opens the other, once", options, async () => {
	const [code, other] = [here, there].map((server) => readFileSync(fileOf(server, "setup-code"), "utf8").trim());
	assert.equal(code, other);
	const account = (email: string, setup_code: string) => ({ email, password: PASSWORD, setup_code });
	refused(await api(there).post("/auth/register", account("a@example.test", `${code}x`)), 403);
	ok(await api(there).post("/auth/register", account("a@example.test", code ?? "")), 201);
	assert.equal(existsSync(fileOf(there, "setup-code")), false);
	refused(await api(here).post("/auth/register", account("b@example.test", code ?? "")), 409, "conflict");
	await here.restart();
	assert.equal(existsSync(fileOf(here, "setup-code")), false);
	assert.doesNotMatch(runSql(postgres, DATABASE, "SELECT name FROM svc.meta"), /setup_code/);
});

test("when one server finds the database altered, the other one refuses, too", options, async () => {
	const spy = (statement: string) => runSql(postgres, DATABASE, statement);
	const isRefused = async (server: Server) => {
		const { status, body } = await api(server).get<{ error?: { code: string } }>("/auth/whoami");
		return status === 503 && body.error?.code === "database_altered";
	};
	spy("CREATE VIEW svc.spy AS SELECT 1 AS one");
	await here.restart();
	spy("DROP VIEW svc.spy");
	assert.equal(await isRefused(here), true);
	await eventually("the other server refuses", () => isRefused(there));
});
