import { setImmediate as nextTurn } from "node:timers/promises";
import type { SealedKind, SealedRows } from "../backups/model.ts";
import type { Log } from "../log.ts";
import { type DatabaseNeeds, type OpenDatabase, withDatabase } from "./database.ts";
import { type Check, ok } from "./model.ts";

/** Functions that open a row of each kind. They reveal nothing of it, and throw when it does not open. */
export type Openers = { [Kind in SealedKind]: (row: SealedRows[Kind]) => unknown };

/** Dependencies of opening everything that is sealed. */
export interface SealedNeeds extends DatabaseNeeds {
	openers: Openers;
	log: Log;
}

/** Maximum number of rows that are named. */
const MOST_NAMED = 20;

/** Rows opened in one turn of the event loop: about 2 ms. */
const ROWS_A_TURN = 50;

/** Rows between two lines of the log that show the progress. */
const ROWS_A_LINE = 100_000;

const HINT =
	"restore a backup, or write it again if you know it; while the row is as another program left it, nothing opens it";

const NAMES: { [Kind in SealedKind]: (row: SealedRows[Kind]) => string } = {
	values: ({ realm, environment, key, version }) => `secret ${realm}/${environment} ${key} version ${version}`,
	deleted_values: ({ realm, environment, key, version }) =>
		`deleted secret ${realm}/${environment} ${key} version ${version}`,
	configs: ({ engine, realm, realm_id }) =>
		`the configuration of ${engine} for ${realm_id === "" ? "all realms" : `realm ${realm}`}`,
	payloads: ({ id, engine }) => `the data of lease ${id} of ${engine}`,
	factors: ({ id, type }) => `the second factor ${id} (${type})`,
	providers: ({ name }) => `the identity provider ${name}`,
	keys: ({ id, purpose }) => `key ${id.toString("hex")} of the keyring (${purpose})`,
};

/** Characters of a name: another program may have written any. */
const MOST_CHARACTERS = 400;

/** Checks that every sealed row of the database opens. */
export async function checkSealed(needs: SealedNeeds, signal: AbortSignal): Promise<Check[]> {
	const { opened, unopened } = await openEverything(needs, signal);
	return unopened.length === 0 ? [ok("sealed", `all ${opened} sealed rows open`)] : unopened.map(failedCheck);
}

/**
 * Opens every sealed row of the database, some at a time, and says which do not open. Values leave memory as soon as they were opened.
 * Design: §13
 */
export function openEverything(
	needs: SealedNeeds,
	signal: AbortSignal,
): Promise<{ opened: number; unopened: string[] }> {
	return withDatabase(needs, signal, async (database) => {
		const tally = { opened: 0, failed: 0, names: [] as string[] };
		for (const kind of Object.keys(NAMES) as SealedKind[]) await openAll(needs, database, kind, tally);
		const { opened, failed, names } = tally;
		const more = failed > names.length ? [`${failed - names.length} more do not open`] : [];
		return { opened, unopened: [...names.map((name) => `${name} does not open`), ...more] };
	});
}

function failedCheck(message: string): Check {
	return { name: "sealed", status: "failed", message, hint: HINT };
}

interface Tally {
	opened: number;
	failed: number;
	names: string[];
}

async function openAll<Kind extends SealedKind>(
	{ openers, log }: SealedNeeds,
	database: OpenDatabase,
	kind: Kind,
	tally: Tally,
): Promise<void> {
	// Another program may have given a row any number.
	for (let after = Number.NEGATIVE_INFINITY; ; ) {
		const { rows, last } = await database.sealed(kind, after);
		if (rows.length === 0) return;
		const unopened = await unopenedOf(rows, openers[kind]);
		// A realm may have been purged, with its key, between the two.
		const again = unopened.length === 0 ? rows : (await database.sealed(kind, after)).rows;
		const failed = unopened.filter((row) => again.some(({ at }) => at === row.at));
		tally.failed += failed.length;
		for (const row of failed)
			if (tally.names.length < MOST_NAMED) tally.names.push(NAMES[kind](row).slice(0, MOST_CHARACTERS));
		const lines = Math.floor(tally.opened / ROWS_A_LINE);
		tally.opened += rows.length - failed.length;
		if (Math.floor(tally.opened / ROWS_A_LINE) > lines) log("info", "doctor.progress", { count: tally.opened });
		after = last;
	}
}

async function unopenedOf<Row>(rows: readonly Row[], open: (row: Row) => unknown): Promise<Row[]> {
	const unopened: Row[] = [];
	for (const [index, row] of rows.entries()) {
		try {
			await open(row);
		} catch {
			unopened.push(row);
		}
		if (index % ROWS_A_TURN === ROWS_A_TURN - 1) await nextTurn();
	}
	return unopened;
}
