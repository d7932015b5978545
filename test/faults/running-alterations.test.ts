/* What another program alters while the server runs: the look that it takes every 10 minutes, whose timer the test advances. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { mock, type TestContext, test } from "node:test";
import { readConfig, startServer } from "../../packages/server/src/main.ts";
import { BUILT_IN } from "../../packages/svc/src/built-in-engines.ts";
import type { Api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, person, realm, secret } from "../harness/fixtures.ts";
import { plainApi } from "./plain-api.ts";

const TEN_MINUTES_MS = 600_000;

interface World {
	readonly client: Api;
	readonly slug: string;
	/** A token of the realm's owner. */
	readonly token: string;
	/** Runs SQL as another program does. */
	alter(sql: string): void;
}

/** Starts a server in this process, whose intervals pass when the test says so. */
async function startWorld(t: TestContext): Promise<World> {
	mock.timers.enable({ apis: ["setInterval"] });
	t.after(() => mock.timers.reset());
	const data = mkdtempSync(join(tmpdir(), "svc-running-"));
	t.after(() => rmSync(data, { recursive: true }));
	const env = {
		...{ SVC_DATA_DIR: data, SVC_LISTEN: "127.0.0.1:0", SVC_TLS_MODE: "off" },
		...{ SVC_LOG_LEVEL: "error", SVC_REGISTRATION_MODE: "open" },
	};
	t.mock.method(process.stderr, "write", () => true);
	const running = await startServer(readConfig(env, data), BUILT_IN);
	t.after(running.stop);
	const client = plainApi(running.url);
	const owner = await person(client, "owner");
	const { slug } = await realm(client, owner);
	await secret(client, owner, slug, "KEY", "value");
	const { token } = await apiToken(client, owner, "read");
	ok(await client.get(`/eso/${slug}?env=dev`, { token }));
	const alter = (sql: string) => {
		const database = new DatabaseSync(join(data, "svc.db"), { enableForeignKeyConstraints: false });
		database.exec(sql);
		database.close();
	};
	return { client, slug, token, alter };
}

const databaseOf = async (client: Api) =>
	(await client.get<{ checks: { database: string } }>("/health")).body.checks.database;

async function lookAgain(client: Api): Promise<void> {
	assert.equal(await databaseOf(client), "healthy");
	mock.timers.tick(TEN_MINUTES_MS);
	await eventually("the look finds it", async () => (await databaseOf(client)) === "unhealthy");
}

test("a right that is altered while the server runs is noticed within 10 minutes, and nothing is believed any more", async (t) => {
	const { client, slug, token, alter } = await startWorld(t);
	alter("DELETE FROM api_token");
	await lookAgain(client);
	for (const path of ["/realms", `/eso/${slug}?env=dev`])
		refused(await client.get(path, { token }), 503, "database_altered");
});

test("a value that is taken away while the server runs is noticed within 10 minutes, and everything else works", async (t) => {
	const { client, slug, token, alter } = await startWorld(t);
	alter("DELETE FROM secret; DELETE FROM secret_version");
	await lookAgain(client);
	ok(await client.get("/realms", { token }));
	assert.equal((await client.get(`/eso/${slug}?env=dev`, { token })).status, 503);
});
