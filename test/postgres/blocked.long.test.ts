/* Requests whose statements wait for a lock of another program, on a real PostgreSQL: each waits for the real deadline. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connect } from "../../packages/server/src/store/postgres/connection.ts";
import { api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { person, realm, secret, secretPath } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";
import { createDatabase, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const options = { skip: skipWithoutPostgres };
const DATABASE = "svc_blocked";
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

test("a read and a write that another program's lock blocks end as 503 with Retry-After", options, async () => {
	const postgres = await startPostgres();
	ends.defer(postgres.stop);
	const server = await startServer({ env: { SVC_DATABASE_URL: createDatabase(postgres, DATABASE) } });
	ends.defer(server.close);
	const client = api(server);
	const admin = await person(client, "admin");
	const { slug } = await realm(client, admin);
	await secret(client, admin, slug, "KEPT", "as it was");
	const { host, port, user } = postgres;
	const holder = await connect({ host, port, user, database: DATABASE, password: "" });
	ends.defer(holder.close);
	const token = { token: admin.token };
	const ask = () =>
		Promise.all([
			client.get(secretPath(slug, "KEPT"), token),
			client.post(`/realms/${slug}/secrets`, { key: "NEW", value: "v", environment: "dev" }, token),
		]);
	// The holder's own transaction would end by idle_in_transaction_session_timeout.
	await holder.script(
		"SET idle_in_transaction_session_timeout = 0; BEGIN; LOCK TABLE svc.secret IN ACCESS EXCLUSIVE MODE",
	);
	for (const answer of await ask()) {
		refused(answer, 503, "store_unavailable");
		assert.ok(Number(answer.headers["retry-after"]) > 0);
	}
	await holder.script("ROLLBACK");
	await eventually("it is healthy again", async () => (await client.get("/health")).status === 200);
	assert.doesNotMatch(server.stderr(), /"database\.away"/, "no connection was given up");
	const [read, written] = await ask();
	ok(read);
	ok(written, 201);
});
