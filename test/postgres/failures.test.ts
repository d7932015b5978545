/* A real PostgreSQL that fails in one way after the other: what callers, balancers and people learn, and that the same process works again afterwards. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { type Connection, connect } from "../../packages/server/src/store/postgres/connection.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import {
	accessWith,
	expectRecovery,
	expectTrouble,
	type FailingWorld,
	ROLE,
	startFailingWorld,
} from "./failing-world.ts";

const options = { skip: skipWithoutPostgres };
const ends = new AsyncDisposableStack();
let world: FailingWorld;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	world = await startFailingWorld();
	ends.defer(world.close);
});

/** A way to fail, and back. */
interface Failure {
	readonly name: string;
	readonly status: "away" | "failing";
	readonly reason: string;
	/** @returns what ends it */
	begin(world: FailingWorld): Promise<() => Promise<unknown>>;
}

/** Connects to the database as the server's role, not through the proxy. */
async function connectAsServer({ postgres: { host, port }, password_file }: FailingWorld): Promise<Connection> {
	return connect({
		host,
		port,
		user: ROLE,
		database: "postgres",
		password: (await readFile(password_file, "utf8")).trim(),
	});
}

const isRefused = (world: FailingWorld) =>
	connectAsServer(world).then(
		(connection) => connection.close().then(() => false),
		() => true,
	);

/** Changes who gets in. */
async function setAccess(world: FailingWorld, method: "scram-sha-256" | "reject"): Promise<void> {
	await writeFile(world.sql("SHOW hba_file"), accessWith(method).join("\n"));
	world.sql("SELECT pg_reload_conf()");
	await eventually("it is in force", async () => (await isRefused(world)) === (method === "reject"));
}

const FAILURES: readonly Failure[] = [
	{
		name: "stopped by a crash",
		status: "away",
		reason: "unreachable",
		async begin({ postgres }) {
			await postgres.crash();
			return postgres.start;
		},
	},
	{
		name: "that pg_hba.conf closes to the server's role",
		status: "away",
		reason: "refused",
		async begin(world) {
			await setAccess(world, "reject");
			world.proxy.reset();
			return () => setAccess(world, "scram-sha-256");
		},
	},
	{
		name: "whose password is another one, until the server's file has it",
		status: "away",
		reason: "refused",
		async begin({ sql, proxy, password_file }) {
			sql(`ALTER ROLE ${ROLE} PASSWORD 'second of two'`);
			proxy.reset();
			return () => writeFile(password_file, "second of two\n");
		},
	},
	{
		name: "without a connection left",
		status: "away",
		reason: "too_many_connections",
		async begin(world) {
			world.proxy.refuse();
			const taken: Connection[] = [];
			while (!(await isRefused(world))) taken.push(await connectAsServer(world));
			assert.ok(taken.length > 10);
			world.proxy.restore();
			return () => Promise.all(taken.map((connection) => connection.close()));
		},
	},
	{
		name: "that becomes read-only",
		status: "failing",
		reason: "read_only",
		async begin({ sql }) {
			const reload = (change: string) => {
				sql(`ALTER SYSTEM ${change} default_transaction_read_only ${change === "SET" ? "= on" : ""}`);
				sql("SELECT pg_reload_conf()");
			};
			reload("SET");
			return async () => reload("RESET");
		},
	},
];

for (const { name, status, reason, begin } of FAILURES)
	test(`a database ${name}: 503, a reason in health, metrics and doctor, and a way back`, options, async () => {
		const { pid, stderr } = world.server;
		const end = await begin(world);
		await expectTrouble(world, status, reason).finally(end);
		await expectRecovery(world, pid);
		const log = stderr();
		assert.match(log, new RegExp(`"database.${status}".*"${reason}"`));
		assert.equal(log.includes("of two"), false, "no password is in the log");
	});

test("a read that leaves no event is answered while the database is read-only", options, async () => {
	const { sql, client, admin } = world;
	sql("ALTER SYSTEM SET default_transaction_read_only = on");
	sql("SELECT pg_reload_conf()");
	try {
		await expectTrouble(world, "failing", "read_only");
		ok(await client.get("/realms", { token: admin.token }));
	} finally {
		sql("ALTER SYSTEM RESET default_transaction_read_only");
		sql("SELECT pg_reload_conf()");
	}
	await expectRecovery(world, world.server.pid);
});
