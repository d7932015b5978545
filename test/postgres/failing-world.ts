import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { addressOf, type Postgres, runSql, startPostgres } from "../peers/postgres.ts";
import { startProxy, type TcpProxy } from "../peers/proxy.ts";

const DATABASE = "svc_failing";

/** The server's role, whose password the database asks for, and a password that it has at first. */
export const ROLE = "svc_app";
const PASSWORD = "first of two";

/** Lines of pg_hba.conf: the test's own role gets in always, the server's with its password or not at all. */
export const accessWith = (method: "scram-sha-256" | "reject") => [
	"host all svc 127.0.0.1/32 trust",
	`host all ${ROLE} 127.0.0.1/32 ${method}`,
];

/** A server whose database fails on demand. */
export interface FailingWorld {
	readonly postgres: Postgres;
	/** Lies between the server and its database. */
	readonly proxy: TcpProxy;
	readonly server: Server;
	readonly client: Api;
	readonly admin: Person;
	readonly slug: string;
	/** File that the server reads its password from. */
	readonly password_file: string;
	/** Runs statements in its database as the superuser. */
	sql(text: string): string;
	close(): Promise<void>;
}

/** Starts a server on a database. @param tablespace folder that the database lies in */
export async function startFailingWorld(tablespace?: string): Promise<FailingWorld> {
	await using ends = new AsyncDisposableStack();
	const folder = await mkdtemp(join(tmpdir(), "svc-failing-"));
	ends.defer(() => rm(folder, { recursive: true }));
	const settings = ["synchronous_commit=on", "max_connections=20"];
	const postgres = await startPostgres({ settings, access: accessWith("scram-sha-256") });
	ends.defer(postgres.stop);
	const sql = (text: string, database = DATABASE) => runSql(postgres, database, text);
	sql(`CREATE ROLE ${ROLE} LOGIN PASSWORD '${PASSWORD}'`, "postgres");
	if (tablespace !== undefined) sql(`CREATE TABLESPACE small LOCATION '${tablespace}'`, "postgres");
	const place = tablespace === undefined ? "" : "TABLESPACE small";
	sql(`CREATE DATABASE ${DATABASE} OWNER ${ROLE} ${place}`, "postgres");
	const proxy = await startProxy(postgres.port);
	ends.defer(proxy.stop);
	const password_file = join(folder, "password");
	await writeFile(password_file, PASSWORD, { mode: 0o600 });
	const server = await startServer({
		env: {
			SVC_DATABASE_URL: addressOf({ ...postgres, port: proxy.port, user: ROLE }, DATABASE),
			SVC_DATABASE_PASSWORD_FILE: password_file,
		},
	});
	ends.defer(server.close);
	const client = api(server);
	const admin = await person(client, "admin");
	const { slug } = await realm(client, admin);
	await secret(client, admin, slug, "KEPT", "as it was");
	const moved = ends.move();
	return {
		...{ postgres, proxy, server, client, admin, slug, password_file },
		sql: (text) => sql(text),
		close: () => moved.disposeAsync(),
	};
}

/** A server's view of its database, in the answer of health. */
interface Store {
	type: string;
	status: string;
	reason?: string;
	since?: string;
	message?: string;
	hint?: string;
}

interface State {
	status: string;
	checks: { database: string };
	store: Store;
}

/** Writes a secret. */
export function write({ client, admin, slug }: FailingWorld, value = "written") {
	return client.post(`/realms/${slug}/secrets`, { key: "NEW", value, environment: "dev" }, { token: admin.token });
}

const health = async ({ client }: FailingWorld) => (await client.get<State>("/health")).body;

/** Names the reasons for which the metrics say that the database does not work. */
async function reasonsInMetrics({ client }: FailingWorld): Promise<string[]> {
	const { text } = await client.send("GET", "/metrics");
	return [...text.matchAll(/^svc_store_trouble\{reason="(\w+)"\} 1$/gm)].map(([, reason = ""]) => reason);
}

/** Waits until the server says what is wrong with its database, everywhere and in the same words, and answers changes with 503. */
export async function expectTrouble(
	world: FailingWorld,
	status: "away" | "failing",
	reason: string,
	seconds?: number,
): Promise<void> {
	await eventually(
		`it is ${status} because of ${reason}`,
		async () => {
			const { store } = await health(world);
			return store.status === status && store.reason === reason;
		},
		seconds,
	);
	const { status: verdict, checks, store } = await health(world);
	assert.deepEqual([verdict, checks.database], ["unhealthy", "unhealthy"]);
	assert.ok(store.since && store.message && store.hint);
	for (const detail of [ROLE, PASSWORD, "127.0.0.1", String(world.proxy.port)])
		assert.equal(JSON.stringify(store).includes(detail), false);
	assert.deepEqual(await reasonsInMetrics(world), [reason]);
	const ready = await world.client.get("/health?ready=true");
	assert.equal(
		ready.status,
		status === "away" ? 503 : 200,
		"the readiness check passes while requests can be answered",
	);
	const answer = await write(world);
	refused(answer, 503, "store_unavailable");
	assert.ok(Number(answer.headers["retry-after"]) > 0);
	await expectInDoctor(world, store);
}

/** While the database can be read, the doctor knows who asks. */
async function expectInDoctor({ client, admin }: FailingWorld, { status, message }: Store): Promise<void> {
	const doctor = await client.get<{ checks: Check[] }>("/doctor", { token: admin.token });
	if (status === "away") return refused(doctor, 503, "store_unavailable");
	const found = ok(doctor).checks.filter((check) => check.name === "database" && check.status === "failed");
	assert.deepEqual(
		found.map((check) => check.message),
		[message],
	);
}

interface Check {
	name: string;
	status: string;
	message: string;
}

/** Waits until the same process works again. */
export async function expectRecovery(world: FailingWorld, pid: number, seconds = 15): Promise<void> {
	const isHealthy = async () => {
		const { status, store } = await health(world);
		return status === "healthy" && store.status === "healthy";
	};
	await eventually("it is healthy again", isHealthy, seconds);
	assert.deepEqual((await health(world)).store, { type: "postgresql", status: "healthy" });
	assert.deepEqual(await reasonsInMetrics(world), []);
	ok(await write(world), 201);
	assert.equal(world.server.pid, pid);
}
