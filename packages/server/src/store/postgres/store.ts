import { createRowMacs } from "../../crypto/row-macs.ts";
import { FatalError } from "../../errors.ts";
import type { StoreState } from "../../health/model.ts";
import { system } from "../../system.ts";
import type { Store } from "../store.ts";
import { createAdapter } from "./adapter.ts";
import type { Address } from "./address.ts";
import { createChanges, keepUp, readMarks } from "./changes.ts";
import { claimDatabase, shareDatabase } from "./claim-database.ts";
import { type Sql, withConnection } from "./connection.ts";
import { type Connections, createConnections, openReadPools } from "./connections.ts";
import { readDurability } from "./durability.ts";
import { forgetFindings, reportedFindings } from "./findings.ts";
import { createGuard, type Guard } from "./guard.ts";
import { type Found, findHistory, type History, type Known, openHistory } from "./history.ts";
import { checkIntegrity, isNew } from "./integrity.ts";
import { FIRST_KEYS_LOCK } from "./locks.ts";
import { createDatabaseThrottle } from "./low-disk.ts";
import { createMembership } from "./membership.ts";
import { type FindAlterations, hasOwnSchema, migrate, type Pending } from "./migrate.ts";
import { createProvedAnswers } from "./proved-answers.ts";
import { startPulse } from "./pulse.ts";
import type { ReadPool } from "./read-pools.ts";
import type { ReconnectingConnection } from "./reconnecting-connection.ts";
import { exportToSqlite } from "./sqlite-export.ts";
import { createDatabaseState } from "./state.ts";
import { openStatements } from "./statements.ts";
import { createWriter } from "./writer.ts";

/** Database to open, and listeners. */
export interface PostgresOptions {
	/** Reads the addresses of the database's hosts, one of which is the primary, for each connection: the password may have changed. */
	addresses(): readonly Address[];
	/** File that keeps the database's history from one start to the next; undefined if nothing does. */
	history_file?: string;
	/** Bytes that the database may have on its disk; undefined if nobody knows. */
	most_bytes?: number | undefined;
	/** Start of the server. */
	now: Date;
	/** Treatment of migrations that the database lacks: they are applied if undefined. */
	pending?: Pending;
	/** Called once when the database cannot be used any more: the process must end. */
	onFailure(error: FatalError): void;
	/** Lets other servers that share the database use it at the same time: ADR 18. A command has it alone. */
	isShared?: boolean;
	/** Called when the database does not work any more, or for another reason, and when it works again. */
	onState?(state: StoreState): void;
}

/** A store on PostgreSQL. */
export interface PostgresStore extends Store {
	/** Returns the address of the host that is in use. */
	address(): Address;
	/** Compares its history with a known one. */
	compareHistory(known: Known): Promise<Found>;
}

/**
 * Opens the PostgreSQL adapter of the store: connects, migrates, and keeps its connections.
 * @throws FatalError when the database cannot be used, or another server uses it; Error when it cannot be reached
 */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
	const { isShared = false, addresses, history_file, most_bytes, onState } = options;
	const guard = createGuard();
	const history = openHistory(history_file, guard);
	const state = createDatabaseState(onState);
	const links = createConnections(addresses, history, state);
	try {
		const { writing, findAlterations } = await openWriting(links, options);
		const pools = await openReadPools(links);
		await forgetFindings(writing, isShared);
		const { join, nodes, claims, duties, reportAltered, ...membership } = createMembership(
			links,
			pools.requests,
			isShared,
			guard,
		);
		const statements = await openStatements(links);
		const changes = createChanges(writing, guard, membership.claimant, history.note);
		const unfollow = history.follow(statements);
		const answers = createProvedAnswers(() => keepUp(pools.requests, guard));
		const throttle = createDatabaseThrottle(writing, most_bytes);
		const writer = createWriter(changes, { isUp: writing.isUp, state, checksReads: isShared, throttle });
		const adapter = createAdapter({
			pools,
			writer,
			...{ change: changes.change, statements },
			macs: guard.macs,
			keys: guard.keys,
			answers,
			marksIn: (sql) => readMarks(sql, guard),
			isShared,
			alterations: async (sql) => [...new Set([...(await findAlterations(sql)), ...guard.found])],
		});
		const { close: endPulse, ...known } = await startPulse({ links, state, probe: adapter.health.probe });
		return {
			...adapter,
			...known,
			...describe({ pool: pools.requests, links, history, guard, isShared, hosts: addresses().length }),
			...{ join, nodes, claims, duties, reportAltered },
			eventsOnLowDisk: throttle.seen,
			questionTimes: () => ({ seconds: 0, refused: 0 }),
			keepUp: isShared ? answers.prove : undefined,
			readKeysWith: (read) => isShared && guard.readKeysWith(read),
			...integrityChecks(pools.everything, guard, findAlterations, answers.prove, [answers, changes]),
			altered: guard.noticed,
			async close() {
				await endPulse();
				await Promise.all([writer.close(), membership.close(), ...Object.values(pools).map((pool) => pool.close())]);
				await unfollow();
				await links.close();
			},
		};
	} catch (error) {
		await links.close();
		throw error;
	}
}

/** Makes the questions about the database itself, and what runs on connections of its own. */
function describe(needs: {
	pool: ReadPool;
	links: Connections;
	history: History;
	guard: Guard;
	isShared: boolean;
	hosts: number;
}): Pick<PostgresStore, "address" | "alone" | "copyTo" | "time" | "compareHistory" | "durability" | "isSuperuser"> {
	const { pool, links, history, guard, isShared, hosts } = needs;
	return {
		address: links.address,
		compareHistory: (known) => withConnection(links.address(), (link) => findHistory(link, known, guard)),
		durability: async () => ({ ...(await pool.ask(readDurability)), hosts, keeps_history: history.isKept() }),
		isSuperuser: () => pool.ask(isSuperuser),
		alone: (work) => withConnection(links.address(), (link) => link.transaction(`BEGIN; ${FIRST_KEYS_LOCK}`, work)),
		copyTo: (file) => exportToSqlite(links.address(), file),
		time: isShared ? () => pool.ask(databaseTime) : undefined,
	};
}

/** Stage of a start. */
interface Start {
	/** Whether nobody else uses the database. */
	isAlone: boolean;
	isOver: boolean;
}

/** Opens the connection of changes: the database is claimed, and has this program's schema. */
async function openWriting(
	links: Connections,
	{ isShared = false, now, pending, onFailure }: PostgresOptions,
): Promise<{ writing: ReconnectingConnection; findAlterations: FindAlterations }> {
	const start: Start = { isAlone: false, isOver: false };
	const writing = await links.open(async (connection) => {
		const use = start.isOver ? "shared" : "first or shared";
		start.isAlone = await claimDatabase(connection, isShared ? use : "alone");
		if (start.isOver && !(await hasOwnSchema(connection))) onFailure(otherSchema());
	});
	const beside = start.isAlone ? "apply" : "refuse while others run";
	const findAlterations = await migrate(writing, now.toISOString(), pending ?? beside);
	if (isShared) await shareDatabase(writing);
	start.isOver = true;
	return { writing, findAlterations };
}

function otherSchema(): FatalError {
	return new FatalError(
		"another version of svc has changed the database's schema, stopping: start that version on this machine, too",
		78,
	);
}

async function isSuperuser(sql: Sql): Promise<boolean> {
	const [role] = await sql.rows<{ rolsuper: boolean }>("SELECT rolsuper FROM pg_roles WHERE rolname = current_user");
	return role?.rolsuper === true;
}

/** Reads the database's clock, in Unix milliseconds. */
async function databaseTime(sql: Sql): Promise<number> {
	const [found] = await sql.rows<{ now: number }>(
		"SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
	);
	return found?.now ?? Number.NaN;
}

/** Makes the operations that compare the database with what the last change left; the first one also compares its schema with what the migrations make. */
function integrityChecks(
	pool: ReadPool,
	guard: Guard,
	findAlterations: FindAlterations,
	catchUp: () => Promise<void>,
	memories: readonly { clear(): void }[],
): Pick<Store, "guard" | "checkIntegrity"> {
	async function compare() {
		for (;;) {
			// The keys of this moment: rows of the snapshot may be under one that is destroyed meanwhile.
			const keys = guard.keys();
			const macs = createRowMacs(keys, system.randomBytes);
			const report = await pool.ask((sql) => checkIntegrity(sql, macs, ["access", "content"]));
			if (report.access.length + report.content.length === 0) return report;
			await catchUp();
			// What does not fit may be under a key that another server has made since.
			if (guard.keys() === keys) return report;
		}
	}
	return {
		async guard(row_keys) {
			if (!guard.use(row_keys)) return;
			const found = await pool.ask(async (sql) => [
				...(await findAlterations(sql)),
				...((await isNew(sql)) ? [] : (await checkIntegrity(sql, guard.macs, ["access"])).access),
			]);
			if (found.length > 0) guard.lose(found);
			else guard.begin();
			guard.learn(await pool.ask(reportedFindings));
		},
		// A row that another program put back for a moment may be remembered.
		checkIntegrity: () =>
			compare().finally(() => {
				for (const memory of memories) memory.clear();
			}),
	};
}
