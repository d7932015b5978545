/* Two servers whose real PostgreSQL fails over to its synchronous standby while they are written to: nothing that was answered is missing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import {
	createDatabase,
	type Postgres,
	REPLICATED,
	runSql,
	skipWithoutPostgres,
	startPostgres,
} from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };
const DATABASE = "svc_pair";
const WRITERS = 4;

const ends = new AsyncDisposableStack();
let primary: Postgres;
let standby: Postgres;
let servers: readonly [Server, Server];
let admin: Person;
let slug: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	primary = await startPostgres({ settings: REPLICATED });
	ends.defer(primary.stop);
	createDatabase(primary, DATABASE);
	standby = await startPostgres({ settings: REPLICATED, standby_of: { primary, name: "second" } });
	ends.defer(standby.stop);
	runSql(primary, "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'second'");
	runSql(primary, "postgres", "SELECT pg_reload_conf()");
	const synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
	await eventually("the standby is synchronous", () => runSql(primary, "postgres", synchronous) === "1");
	const hosts = [primary, standby].map(({ host, port }) => `${host}:${port}`).join(",");
	const env = { SVC_DATABASE_URL: `postgres://svc@${hosts}/${DATABASE}` };
	const first = await startServer({ env });
	ends.defer(first.close);
	const second = await startServer({ env: { ...env, SVC_MASTER_KEY_FILE: join(first.data, "master.key") } });
	ends.defer(second.close);
	servers = [first, second];
	admin = await person(api(first), "admin");
	({ slug } = await realm(api(first), admin));
	await secret(api(first), admin, slug, "KEPT", "as it was");
});

/** Writes new secrets, one after another, until it is stopped. @returns the keys of those that were answered */
function write(server: Server, name: string) {
	const answered: string[] = [];
	let isOver = false;
	const writing = (async () => {
		for (let index = 0; !isOver; index++) {
			const key = `${name}_${index}`;
			const path = `/realms/${slug}/secrets`;
			const answer = await api(server).post(path, { key, value: key, environment: "dev" }, { token: admin.token });
			if (answer.status === 201) answered.push(key);
			else assert.equal(answer.status, 503);
		}
	})();
	return {
		answered,
		stop: async () => {
			isOver = true;
			await writing;
		},
	};
}

test("two servers go on with the promoted standby, which has all that they have answered", options, async () => {
	const pids = servers.map(({ pid }) => pid);
	const writers = Array.from({ length: WRITERS }, (_, index) => write(servers[index % 2] as Server, `W${index}`));
	await eventually("all write", () => writers.every(({ answered }) => answered.length >= 20));
	await primary.crash();
	runSql(standby, "postgres", "SELECT pg_promote()");
	const before = writers.map(({ answered }) => answered.length);
	await eventually("all write again", () =>
		writers.every(({ answered }, index) => answered.length > (before[index] ?? 0)),
	);
	await Promise.all(writers.map(({ stop }) => stop()));
	assert.deepEqual(
		servers.map(({ pid }) => pid),
		pids,
	);
	const [first] = servers;
	for (const key of writers.flatMap(({ answered }) => answered)) {
		const { value } = ok(await api(first).get<Secret>(secretPath(slug, key), { token: admin.token }));
		assert.equal(value, key);
	}
	assert.equal(
		ok(await api(servers[1]).get<Secret>(secretPath(slug, "KEPT"), { token: admin.token })).value,
		"as it was",
	);
});
