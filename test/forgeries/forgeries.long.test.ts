import assert from "node:assert/strict";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { ROW_KINDS, type RowTable } from "../../packages/server/src/store/row-kinds.ts";
import type { Api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { skipWithoutRedis } from "../peers/redis.ts";
import { WITH_AN_AIM } from "./aims.ts";
import { expectNoticed } from "./expected.ts";
import { OF_FILES } from "./files.ts";
import { ofIndexes } from "./indexes.ts";
import { OF_KEYS } from "./keys.ts";
import { OF_LOG, OF_TIP, WITHIN_LOG } from "./log.ts";
import { OF_NUMBERS } from "./numbers.ts";
import { OTHERS, ofOtherTable } from "./other-tables.ts";
import { OF_CONTENT, OVER_NEWER_CONTENT } from "./rollbacks.ts";
import { ofRows, withEffect } from "./rows.ts";
import { OF_SCHEMA } from "./schema.ts";
import { type Forgery, failures, forge, tryForgery, withServerOver } from "./trial.ts";
import { createForgedWorld, type ForgedWorld } from "./world.ts";

const options = { skip: skipWithoutRedis };
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
let world: ForgedWorld;
before(async () => {
	if (skipWithoutRedis !== false) return;
	world = await createForgedWorld();
	ends.defer(world.close);
});

/** Asks a server over a copy of the honest data directory, altered in some ways. */
async function askOver(forgeries: readonly Forgery[], ask: (api: Api) => Promise<void>): Promise<void> {
	const data = forge(world, forgeries);
	try {
		assert.notEqual(await withServerOver(data, ask), "refused");
	} finally {
		rmSync(data, { recursive: true });
	}
}

test("a database that nobody altered serves those who have access, and nobody else", options, async () => {
	assert.equal(await tryForgery(world), "unnoticed");
});

interface Verified {
	readonly status: string;
	readonly anchored: boolean;
}

/** Reads the newest checkpoint, which the server also wrote to its own log. */
function keptCheckpoint(): string {
	const database = new DatabaseSync(join(world.honest, "svc.db"), { readOnly: true });
	const newest = "SELECT seq, lower(hex(hash)) AS hash FROM audit_checkpoint ORDER BY seq DESC LIMIT 1";
	const { seq, hash } = database.prepare(newest).get() ?? assert.fail("no checkpoint");
	database.close();
	return `?seq=${seq}&hash=${hash}`;
}

test(
	"a rollback of the whole database shows against a checkpoint kept elsewhere, and nowhere else",
	options,
	async () => {
		const { token } = world.people.root;
		const verify = async (api: Api, query = "") => ok(await api.get<Verified>(`/audit/verify${query}`, { token }));
		const anchored = async (api: Api) => {
			const { status, anchored } = await verify(api, keptCheckpoint());
			return { status, anchored };
		};
		const whole: Forgery = {
			name: "file: the whole database as it once was",
			replace: (data, before) => copyFileSync(join(before, "svc.db"), join(data, "svc.db")),
		};
		await askOver([whole], async (api) => {
			const [revoked] = world.ended;
			ok(await api.get("/realms", { token: revoked }));
			assert.equal((await verify(api)).status, "intact");
			assert.equal(ok(await api.get<{ status: string }>("/health")).status, "healthy");
			assert.deepEqual(await failures(api, token), []);
			assert.deepEqual(await anchored(api), { status: "truncated", anchored: true });
		});
		await askOver([], async (api) => assert.deepEqual(await anchored(api), { status: "intact", anchored: true }));
	},
);

const FORGERIES: Readonly<Record<string, readonly Forgery[]>> = {
	"rows with an aim": WITH_AN_AIM,
	"the log": OF_LOG,
	"events and checkpoints": WITHIN_LOG,
	"the tip": OF_TIP,
	"the keys": OF_KEYS,
	"the schema": OF_SCHEMA,
	"the files": OF_FILES,
	"rights, log and tip put back over newer content": OVER_NEWER_CONTENT,
	"numbers without a next one": OF_NUMBERS,
	"content put back in parts": OF_CONTENT,
};

for (const [what, forgeries] of Object.entries(FORGERIES)) {
	test(`forgeries of ${what} give no access, hide nothing and are noticed`, options, () =>
		expectNoticed(world, forgeries),
	);
}

test("indexes of the log that are emptied or dropped are noticed", options, async () => {
	const forgeries = ofIndexes(world);
	assert.ok(forgeries.length >= 2);
	await expectNoticed(world, forgeries);
});

test("the log has blocks to forge", options, () => {
	for (const table of ["audit_block", "audit_posting"]) assert.equal(ofOtherTable(world, table).length, 2);
});

for (const table of Object.keys(ROW_KINDS) as RowTable[]) {
	test(
		`rows of ${table} that are invented, deleted or put back give no access, hide nothing and are noticed`,
		options,
		() => expectNoticed(world, withEffect(world, table, ofRows(table))),
	);
}

for (const table of OTHERS) {
	test(
		`rows of ${table}, which have no MAC, that are changed, deleted or put back give no access and are noticed`,
		options,
		() => expectNoticed(world, ofOtherTable(world, table)),
	);
}
