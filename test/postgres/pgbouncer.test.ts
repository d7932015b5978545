/* PgBouncer between servers and a real PostgreSQL. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import { startServer } from "../harness.ts";
import { skipWithoutPgBouncer, startPgBouncer } from "../peers/pgbouncer.ts";
import { addressOf, createDatabase, type Postgres, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres || skipWithoutPgBouncer };
const ends = new AsyncDisposableStack();
let postgres: Postgres;

after(() => ends.disposeAsync());
before(async () => {
	if (options.skip !== false) return;
	postgres = await startPostgres();
	ends.defer(postgres.stop);
});

for (const mode of ["transaction", "statement"] as const)
	test(`pool_mode ${mode} is refused at each start, with what to do`, options, async () => {
		const database = `svc_${mode}`;
		createDatabase(postgres, database);
		const pooler = await startPgBouncer(postgres, mode);
		ends.defer(pooler.stop);
		const env = { SVC_DATABASE_URL: addressOf({ ...postgres, port: pooler.port }, database) };
		// The second finds what the first one's statements left in the pool's sessions.
		for (let start = 0; start < 3; start++)
			await assert.rejects(startServer({ env }), /exit code 78 [\s\S]*\bpool_mode session\b/);
	});

test("servers work together through pool_mode session", options, async () => {
	const direct = createDatabase(postgres, "svc_session");
	const pooler = await startPgBouncer(postgres, "session");
	ends.defer(pooler.stop);
	const env = { SVC_DATABASE_URL: addressOf({ ...postgres, port: pooler.port }, "svc_session") };
	const first = await startServer({ env });
	ends.defer(first.close);
	const shared = { SVC_MASTER_KEY_FILE: join(first.data, "master.key") };
	const second = await startServer({ env: { ...env, ...shared } });
	ends.defer(second.close);
	const [here, there] = [api(first), api(second)];
	const admin = await person(here, "admin");
	const { slug } = await realm(here, admin);
	await secret(here, admin, slug, "KEPT", "as it was");
	const read = async () => ok(await there.get<Secret>(secretPath(slug, "KEPT"), { token: admin.token })).value;
	assert.equal(await read(), "as it was");
	// What a session of the pool had locked is free when its server has gone.
	await second.restart();
	assert.equal(await read(), "as it was");
	await second.stop();
	await second.restart({ ...shared, SVC_DATABASE_URL: direct });
	assert.equal(await read(), "as it was");
});
