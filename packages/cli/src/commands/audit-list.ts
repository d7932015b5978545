import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, optional, text } from "../client/answer.ts";
import type { Client } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { listAll } from "../client/pages.ts";
import { type CommandSpec, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { eventCells, whoOf } from "../formats/event-line.ts";
import { parseInstant } from "../input/duration.ts";
import { ENVIRONMENTS } from "../input/realm-scope.ts";
import { write } from "../io/io.ts";
import { layoutFor, note, showTable, toJson, visibleCells } from "../io/output.ts";
import { type Report, withProgress } from "../io/progress.ts";
import { type Column, cut, instants, layOut, spare } from "../io/table.ts";
import { explainNone } from "./audit-none.ts";
import { findToken, ID } from "./token.ts";

interface ListOptions {
	readonly realm?: string;
	readonly type?: string;
	readonly actor?: string;
	readonly machine?: string;
	readonly key?: string;
	readonly env?: string;
	readonly token?: string;
	readonly since?: string;
	readonly until?: string;
	readonly limit?: string;
	readonly all?: boolean;
	readonly follow?: boolean;
}

/** Events listed by default. Spec: API › Limits. */
const DEFAULT_LIMIT = 50;

/** The command that lists the log. */
export const AUDIT_LIST: CommandSpec<ListOptions> = {
	usage: "list",
	isDefault: true,
	summary: "list events, the newest first",
	details:
		"On a terminal, each event is one line, with the e-mail of the account, or the name of the machine, that caused it; what does not fit is cut, and --wide shows all. A file or a program gets exact times, e-mails, and each event's facts as JSON; with --json, ids.",
	options: [
		option("--realm <slug>", "of this realm"),
		option("--key <key>", "of secrets with this key"),
		option("--env <name>", "of secrets of this environment").choices(ENVIRONMENTS),
		option("--type <type>", "of this type, such as secret.set, or secret.* for all that begin with secret."),
		option("--actor <user>", "of this user or machine, by id, e-mail, its beginning up to the @, or realm/name"),
		option(
			"--machine <name>",
			"of this machine: shop/deploy, or its name with --realm; one that was deleted, by its id",
		),
		option("--token <token>", "that this API token caused: its id, or the name of one of yours"),
		option("--since <time>", "from then on: a duration such as 2h or 7d, or an instant such as 2030-01-31T00:00:00Z"),
		option("--until <time>", "before then: a duration or an instant"),
		option("--limit <number>", `highest number of events; ${DEFAULT_LIMIT} by default`),
		option("--all", "every event").conflicts("limit"),
		option("--follow", "then wait for new ones, the newest last; with --json one object a line").conflicts([
			"all",
			"until",
		]),
	],
	examples: [
		"svc audit --realm shop --key DB_URL --since 7d",
		"svc audit --actor ada@ --type 'secret.*' --follow",
		"svc audit list --type auth.login.failed --limit 500 --json",
	],
	isList: true,
	run: listEvents,
};

async function listEvents(context: Context<ListOptions>): Promise<void> {
	const { limit, all, json } = context.options;
	const client = await connect(context);
	const query = { ...(await filterOf(context, client)), ...(json === true ? {} : { names: "true" }) };
	if (context.options.follow === true) return follow(context, client, query, parseLimit(limit, FOLLOWED));
	const wanted = all === true ? Number.POSITIVE_INFINITY : parseLimit(limit, DEFAULT_LIMIT);
	const events = await withProgress(context, "reading events", (report) => newest(client, query, wanted, report));
	const [columns, cells] = isForPeople(context) ? [PEOPLE, eventCells] : [PROGRAMS, plainCells];
	const empty = events.length > 0 ? "" : await explainNone(client, context.options);
	await showTable(context, { events }, columns, events.map(cells), empty);
	if (events.length === wanted && isForPeople(context))
		await note(context, `the newest ${wanted}: --limit and --all show more`);
}

const PEOPLE: readonly Column[] = [instants("TIME"), cut("WHO"), "TYPE", spare("REALM"), spare("WHAT")];
const PROGRAMS: readonly Column[] = ["TIME", "TYPE", "ACTOR", "REALM", "DATA"];

function plainCells(event: Answer): string[] {
	return [text(event, "timestamp"), text(event, "type"), whoOf(event), optional(event, "realm"), text(event, "data")];
}

function isForPeople({ io, options }: Context): boolean {
	return io.stdout.isTTY === true && options.json !== true;
}

async function filterOf(context: Context<ListOptions>, client: Client): Promise<Record<string, string>> {
	const { realm, key, env, type, actor, machine, token, since, until } = context.options;
	const now_ms = Date.now();
	const given = {
		realm,
		type,
		actor,
		machine: machine === undefined ? undefined : machineOf(machine, realm),
		key,
		env,
		token: token === undefined ? undefined : await findToken(context, client, token),
		since: since === undefined ? undefined : parseInstant("--since", since, now_ms),
		until: until === undefined ? undefined : parseInstant("--until", until, now_ms),
	};
	return Object.fromEntries(Object.entries(given).filter((one): one is [string, string] => one[1] !== undefined));
}

/** A machine as the server takes it: realm/name, or an id. @throws Failure usage for a name without its realm, which would find nothing */
function machineOf(machine: string, realm: string | undefined): string {
	if (machine.includes("/") || ID.test(machine)) return machine;
	if (realm !== undefined) return `${realm}/${machine}`;
	throw new Failure("usage", "--machine needs the realm, too", { hint: "such as shop/deploy, or give --realm" });
}

async function newest(
	client: Client,
	query: Readonly<Record<string, string>>,
	wanted: number,
	report: Report = () => undefined,
): Promise<Answer[]> {
	const events: Answer[] = [];
	for await (const event of listAll(client, "audit/events", "events", query)) {
		events.push(event);
		report(`${events.length}`);
		if (events.length >= wanted) break;
	}
	return events;
}

/** Events shown before the new ones. */
const FOLLOWED = 10;
/** Milliseconds between two looks. */
const PAUSE_MS = 1000;
/** Milliseconds by which an event may be late: its time is that of its beginning. */
const LATE_MS = 2 * 60_000;
/** Events on which the widths of columns depend. */
const REMEMBERED = 50;

/** Prints events as they come, until it is interrupted. */
async function follow(
	context: Context<ListOptions>,
	client: Client,
	query: Readonly<Record<string, string>>,
	first: number,
): Promise<void> {
	const known = new Map<string, number>();
	const recent: string[][] = [];
	const asked_ms = Date.parse({ since: new Date(0).toISOString(), ...query }.since);
	let events = await withProgress(context, "reading events", (report) => newest(client, query, first, report));
	if (events.length === 0) await explainNone(client, context.options);
	for (;;) {
		const fresh = events.filter((event) => !known.has(text(event, "id"))).toReversed();
		for (const event of fresh) known.set(text(event, "id"), Date.parse(text(event, "timestamp")));
		if (fresh.length > 0) await printNew(context, recent, fresh);
		await sleep(PAUSE_MS);
		const since_ms = (known.size === 0 ? Date.now() : Math.max(...known.values())) - LATE_MS;
		for (const [id, at] of known) if (at < since_ms) known.delete(id);
		const since = new Date(Math.max(since_ms, asked_ms)).toISOString();
		events = await newest(client, { ...query, since }, Number.POSITIVE_INFINITY);
	}
}

async function printNew(context: Context<ListOptions>, recent: string[][], fresh: readonly Answer[]): Promise<void> {
	if (context.options.json === true) {
		await write(context.io.stdout, fresh.map((event) => `${toJson(event, 0)}\n`).join(""));
		return;
	}
	const [columns, cells] = isForPeople(context) ? [PEOPLE, eventCells] : [PROGRAMS, plainCells];
	recent.push(...visibleCells(fresh.map(cells)));
	recent.splice(0, recent.length - Math.max(REMEMBERED, fresh.length));
	// What is relative now is wrong in a minute.
	const { rows } = layOut(columns, recent, { ...layoutFor(context), isExact: true });
	await write(context.io.stdout, `${rows.slice(-fresh.length).flat().join("\n")}\n`);
}

function parseLimit(given: string | undefined, usual: number): number {
	if (given === undefined) return usual;
	if (!/^[1-9]\d{0,8}$/.test(given)) throw new Failure("usage", "--limit takes a number of at least 1");
	return Number(given);
}
