import assert from "node:assert/strict";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { RowTable } from "../../packages/server/src/store/row-kinds.ts";
import type { Api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { CLASSES_OF_LOG, named, OF_ROWS } from "./classes.ts";
import { expectNoticed } from "./expected.ts";
import { OF_FILES } from "./files.ts";
import { OF_KEYS } from "./keys.ts";
import { OF_TIP } from "./log.ts";
import { OF_NUMBERS } from "./numbers.ts";
import { ofOtherTable } from "./other-tables.ts";
import { OF_CONTENT, OVER_NEWER_CONTENT } from "./rollbacks.ts";
import { ofRows, withEffect } from "./rows.ts";
import { OF_SCHEMA } from "./schema.ts";
import { options, useForgedWorld } from "./shared.ts";
import { type Forgery, failures, forge, tryForgery, withServerOver } from "./trial.ts";

/* Some forgeries of each kind; forgeries.long.test.ts tries all. */
const world = useForgedWorld();

/** Asks a server over a copy of the honest data directory, altered in some ways. */
async function askOver(forgeries: readonly Forgery[], ask: (api: Api) => Promise<void>): Promise<void> {
	const data = forge(world(), forgeries);
	try {
		assert.notEqual(await withServerOver(data, ask), "refused");
	} finally {
		rmSync(data, { recursive: true });
	}
}

test("a database that nobody altered serves those who have access, and nobody else", options, async () => {
	assert.equal(await tryForgery(world()), "unnoticed");
});

interface Verified {
	readonly status: string;
	readonly anchored: boolean;
}

/** Reads the newest checkpoint, which the server also wrote to its own log. */
function keptCheckpoint(): string {
	const database = new DatabaseSync(join(world().honest, "svc.db"), { readOnly: true });
	const newest = "SELECT seq, lower(hex(hash)) AS hash FROM audit_checkpoint ORDER BY seq DESC LIMIT 1";
	const { seq, hash } = database.prepare(newest).get() ?? assert.fail("no checkpoint");
	database.close();
	return `?seq=${seq}&hash=${hash}`;
}

test(
	"a rollback of the whole database shows against a checkpoint kept elsewhere, and nowhere else",
	options,
	async () => {
		const { token } = world().people.root;
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
			const [revoked] = world().ended;
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
	rows: Object.values(OF_ROWS),
	"the log": Object.values(CLASSES_OF_LOG),
	"the tip": [named(OF_TIP, "deleted"), named(OF_TIP, "as it once was")],
	"the keys": [named(OF_KEYS, "none for rows, and neither tip nor log"), named(OF_KEYS, "none at all")],
	"the schema": [named(OF_SCHEMA, "a trigger more"), named(OF_SCHEMA, "a check less")],
	"the files": [named(OF_FILES, "a write-ahead log with another admin"), named(OF_FILES, "no database")],
	"rights, log and tip put back over newer content": [named(OVER_NEWER_CONTENT, "rights, log, tip and leases")],
	"numbers without a next one": [named(OF_NUMBERS, "the last event"), named(OF_NUMBERS, "the last row of account")],
	"content put back in parts": OF_CONTENT,
};

for (const [what, forgeries] of Object.entries(FORGERIES)) {
	test(`some forgeries of ${what} give no access, hide nothing and are noticed`, options, () =>
		expectNoticed(world(), forgeries),
	);
}

/** Each forgery of rows, of some table; the unit tests of row-guard.ts alter all tables. */
const FORGED: readonly [table: RowTable, forgery: string][] = [
	["account", "a row invented"],
	["machine_token", "a row deleted"],
	["trust", "all rows deleted"],
	["api_token", "rows put back as they once were"],
	["session", "rows that had ended put back beside the others"],
	["sso_identity", "MACs exchanged"],
	["deleted_version", "a row deleted"],
];

test("a forgery of the rows of some tables gives no access, hides nothing and is noticed", options, async () => {
	const forgeries = FORGED.flatMap(([table, name]) => withEffect(world(), table, [named(ofRows(table), name)]));
	assert.equal(forgeries.length, FORGED.length);
	await expectNoticed(world(), forgeries);
});

test("a forged count of leases is noticed", options, () =>
	expectNoticed(world(), [named(ofOtherTable(world(), "lease_count"), "a count of none")]),
);
