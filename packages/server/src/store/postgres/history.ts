import { existsSync, readFileSync } from "node:fs";
import pg from "pg";
import * as v from "valibot";
import { type ChainEnd, GENESIS } from "../../audit/chain.ts";
import { writeDurablyAsync } from "../../durable-file.ts";
import { FatalError } from "../../errors.ts";
import { LOSS_ACCEPTED, type Unsuitability, UnsuitableDatabase } from "../unsuitable.ts";
import { SCHEMA, type Sql } from "./connection.ts";
import type { Guard } from "./guard.ts";
import { repeat } from "./repeat.ts";
import { createRows } from "./rows.ts";

const KnownSchema = v.object({
	/** Identifier of the PostgreSQL, which its standbys share; undefined where the role may not ask. */
	system: v.optional(v.string()),
	/** Number of failovers, plus one. */
	timeline: v.optional(v.number()),
	seq: v.number(),
	/** In hexadecimal. */
	hash: v.string(),
	/** Time of the last accepted loss, ISO 8601 UTC; empty before the first. */
	accepted_at: v.string(),
});
/** History of a database as a server knows it: the system that it was connected to, and the end of the log that it has seen. */
export type Known = v.InferOutput<typeof KnownSchema>;

const NOTHING: Known = { seq: 0, hash: GENESIS.toString("hex"), accepted_at: "" };

/** Name of the file in the data directory that keeps the known history. */
export const HISTORY_FILE = "database.history";

/** Milliseconds between two looks at the end of the log. */
const LOOK_MS = 1000;

/** Reads the history that a server has kept. @throws FatalError when the file cannot be read */
export function readHistory(file: string | undefined): Known {
	if (file === undefined || !existsSync(file)) return NOTHING;
	try {
		return v.parse(KnownSchema, JSON.parse(readFileSync(file, "utf8")));
	} catch (cause) {
		throw new FatalError(`${file} cannot be read: without it nobody notices lost changes; move it away to go on`, 78, {
			cause,
		});
	}
}

/** Guards a server against a database that is not the one it knows, or lacks what it has seen there. */
export interface History {
	/**
	 * Compares the database of a connection with the known history, which goes on there if it fits, or if its loss was accepted.
	 * @returns the database's timeline, if the role may ask
	 * @throws UnsuitableDatabase
	 */
	check(connection: Sql): Promise<number | undefined>;
	/** Notes the end of the log after a change that was answered. */
	note(end: ChainEnd): void;
	/** Notes each second what all servers have changed, and keeps the history in its file. @returns what ends it */
	follow(sql: Sql): () => Promise<void>;
	/** Tells whether the file could be written the last time. */
	isKept(): boolean;
}

/** Opens the history. @param file where it is kept; undefined for one that ends with the process */
export function openHistory(
	file: string | undefined,
	guard: Pick<Guard, "isSound" | "keys" | "macs" | "forgetKeys">,
): History {
	let known = readHistory(file);
	let kept = known;
	let isFailing = false;
	const note = (end: { seq: number; hash: Buffer }) => {
		if (end.seq > known.seq) known = { ...known, seq: end.seq, hash: end.hash.toString("hex") };
	};
	const keep = async () => {
		// What another program wrote must not replace what the server knows.
		if (file === undefined || known === kept || !guard.isSound()) return;
		const next = known;
		isFailing = true;
		await writeDurablyAsync(file, JSON.stringify(next));
		[kept, isFailing] = [next, false];
	};
	return {
		async check(connection) {
			await requireWritable(connection);
			const found = await findHistory(connection, known, guard);
			const isAccepted = found.accepted_at > known.accepted_at;
			if (found.fault !== undefined && !isAccepted) throw new UnsuitableDatabase(found.fault);
			if (found.fault !== undefined) guard.forgetKeys();
			const { system = known.system, timeline = known.timeline, fault } = found;
			const { seq, hash } = fault === undefined ? known : found;
			const accepted_at = isAccepted ? found.accepted_at : known.accepted_at;
			const next = { ...(system && { system }), ...(timeline && { timeline }), seq, hash, accepted_at };
			// A change that was answered meanwhile stays.
			known = { ...next, ...(fault === undefined && known.seq > seq && { seq: known.seq, hash: known.hash }) };
			return found.timeline;
		},
		note,
		isKept: () => !isFailing,
		follow(sql) {
			const look = repeat(LOOK_MS, async () => {
				const [newest] = await sql.rows<ChainEnd>(NEWEST);
				if (newest !== undefined) note(newest);
				const [accepted] = await createRows(sql, guard.macs).verified("meta", IS_ACCEPTED, [LOSS_ACCEPTED]);
				if (accepted !== undefined && accepted.value > known.accepted_at)
					known = { ...known, accepted_at: accepted.value };
				await keep();
			});
			return async () => {
				await look();
				// The doctor reports a file that cannot be written.
				await keep().catch(() => undefined);
			};
		},
	};
}

const NEWEST = "SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1";

const IS_ACCEPTED = "name = $1";

const ROLE = `SELECT pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only') = 'on' AS is_read_only`;

/** Requires a primary that takes writes. @throws UnsuitableDatabase */
export async function requireWritable(sql: Sql): Promise<void> {
	const [role] = await sql.rows<{ is_standby: boolean; is_read_only: boolean }>(ROLE);
	if (role?.is_standby !== false) throw new UnsuitableDatabase("standby");
	if (role.is_read_only) throw new UnsuitableDatabase("read_only");
}

/** A database's history, next to a known one. */
export interface Found extends Known {
	/** Why it does not go on from the known one. */
	fault: Unsuitability | undefined;
}

/** Finds the history of a database. @param guard its keys verify that a loss was accepted; before the first ones, the integrity check of a start does */
export async function findHistory(sql: Sql, known: Known, guard: Pick<Guard, "keys" | "macs">): Promise<Found> {
	const identity = await identify(sql);
	const [log] = await sql.rows<{ is_there: boolean }>(
		`SELECT to_regclass('${SCHEMA}.audit_event') IS NOT NULL AS is_there`,
	);
	const found = log?.is_there === true ? await findEnd(sql, known, guard) : { ...NOTHING, has_known: known.seq === 0 };
	const { has_known, ...end } = found;
	return { ...end, ...identity, fault: faultIn(identity, has_known, known) };
}

function faultIn({ system, timeline }: Partial<Known>, has_known: boolean, known: Known): Unsuitability | undefined {
	if (system !== undefined && known.system !== undefined && system !== known.system) return "other_database";
	if (timeline !== undefined && known.timeline !== undefined && timeline < known.timeline) return "old_primary";
	return has_known ? undefined : "lost_answers";
}

/** The file names of the write-ahead log begin with the timeline, which the last checkpoint may not know yet. */
const IDENTITY = `SELECT system_identifier::text AS system, ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int AS timeline
	FROM pg_control_system()`;

/** Identifies the database, as far as its role may ask. */
async function identify(sql: Sql): Promise<Pick<Known, "system" | "timeline">> {
	try {
		const [found] = await sql.rows<{ system: string; timeline: number }>(IDENTITY);
		return found ?? {};
	} catch (error) {
		if (error instanceof pg.DatabaseError) return {};
		throw error;
	}
}

async function findEnd(sql: Sql, known: Known, { keys, macs }: Pick<Guard, "keys" | "macs">) {
	const hashAt = async (seq: number) =>
		(await sql.rows<{ hash: Buffer }>("SELECT hash FROM audit_event WHERE seq = $1", [seq]))[0]?.hash.toString("hex");
	const has_known = known.seq === 0 || (await hashAt(known.seq)) === known.hash;
	const [last] = await sql.rows<ChainEnd>(NEWEST);
	const rows = createRows(sql, macs);
	const read = keys().length === 0 ? rows.stored : rows.verified;
	const [accepted] = await read("meta", IS_ACCEPTED, [LOSS_ACCEPTED]);
	const end = last === undefined ? NOTHING : { seq: last.seq, hash: last.hash.toString("hex") };
	return { seq: end.seq, hash: end.hash, accepted_at: accepted?.value ?? "", has_known };
}
