import type { Command } from "commander";
import { type Answer, count, optional, rows, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { notFound } from "../command-line/not-found.ts";
import { EXIT, Failure } from "../failure.ts";
import { checkEnvironment, REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import { type Io, isInteractive } from "../io/io.ts";
import { note, show, showTable, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { confirm } from "../io/prompt.ts";

interface DiffOptions extends RealmOptions {
	readonly exitCode?: boolean;
}

interface PromoteOptions extends RealmOptions {
	readonly from: string;
	readonly to: string;
	readonly all?: boolean;
	readonly dryRun?: boolean;
	readonly yes?: boolean;
}

/** Two environments of a realm. */
interface Pair {
	readonly realm: string;
	readonly from: string;
	readonly to: string;
}

/** Adds the commands that compare environments and copy secrets between them. */
export function addPromotionCommands(program: Command, io: Io): void {
	addCommand<DiffOptions>(program, io, {
		usage: "diff <from> <to>",
		summary: "show how two environments differ, without values",
		details: "The server compares, so no value leaves it. With --json, the answer includes keys that are equal.",
		options: [REALM_OPTION, option("--exit-code", "exit with 1 when they differ")],
		examples: ["svc diff staging prod --realm shop", "svc diff staging prod --realm shop --exit-code --json"],
		isList: true,
		run: diff,
	});
	addCommand<PromoteOptions>(program, io, {
		usage: "promote [keys...]",
		summary: "copy secrets from one environment to another, without showing values",
		details:
			"svc copies exactly what it showed: if a secret has changed since, it copies nothing. It also copies comment and expiry, and leaves secrets that exist only in the other environment.",
		options: [
			REALM_OPTION,
			option("--from <env>", "environment to copy from").makeOptionMandatory(),
			option("--to <env>", "environment to copy to").makeOptionMandatory(),
			option("--all", "every secret that is missing or different there"),
			option("--dry-run", "only show what would be copied"),
			option("--yes", "do not ask"),
		],
		examples: [
			"svc promote DATABASE_URL --from staging --to prod --realm shop",
			"svc promote --all --from staging --to prod --realm shop --dry-run",
		],
		run: promote,
	});
}

async function diff(context: Context<DiffOptions>, from = "", to = ""): Promise<number> {
	const pair = pairOf(context, from, to);
	const secrets = await compare(context, await connect(context), pair);
	const different = secrets.filter(isDifferent);
	const equal = secrets.length - different.length;
	const lines = different.map((row) => [text(row, "key"), inWords(row, pair), ...versionsOf(row)]);
	await showTable(context, { ...pair, secrets }, ["KEY", "DIFFERENCE", ...titlesOf(pair)], lines, "no difference");
	await note(context, `${different.length} different, ${equal} equal`);
	return context.options.exitCode === true && different.length > 0 ? EXIT.failed : EXIT.done;
}

function pairOf(context: Context<RealmOptions>, from: string, to: string): Pair {
	const pair = { realm: realmOf(context), from: checkEnvironment(from), to: checkEnvironment(to) };
	if (from === to) throw new Failure("usage", "both environments are the same: name two");
	return pair;
}

async function compare(context: Context, client: Client, { realm, from, to }: Pair): Promise<Answer[]> {
	const call = { method: "GET", path: path`realms/${realm}/diff`, query: { from, to } } as const;
	return rows(await withProgress(context, "comparing secrets", () => send(client, call)), "secrets");
}

function isDifferent(row: Answer): boolean {
	return text(row, "status") !== "equal";
}

function inWords(row: Answer, { from, to }: Pair): string {
	const status = text(row, "status");
	if (status === "only_in_from") return `only in ${from}`;
	return status === "only_in_to" ? `only in ${to}` : status;
}

function versionsOf(row: Answer): string[] {
	return [optional(row, "from_version"), optional(row, "to_version")];
}

function titlesOf({ from, to }: Pair): string[] {
	return [from, to].map((environment) => `${environment.toUpperCase()} VERSION`);
}

async function promote(context: Context<PromoteOptions>, ...keys: string[]): Promise<void> {
	const { options } = context;
	if ((options.all === true) === keys.length > 0) throw new Failure("usage", "give either keys or --all");
	const pair = pairOf(context, options.from, options.to);
	const client = await connect(context);
	const plan = choose(await compare(context, client, pair), keys, pair);
	if (plan.length === 0 || options.dryRun === true) return showPlan(context, pair, plan);
	if (options.yes !== true) await ask(context, pair, plan);
	const secrets = plan.map((row) => ({
		key: text(row, "key"),
		from_version: count(row, "from_version"),
		to_version: row.to_version ?? null,
	}));
	const body = { from: pair.from, to: pair.to, secrets };
	const call = { method: "POST", path: path`realms/${pair.realm}/promote`, body } as const;
	const answer = await withProgress(context, "copying secrets", () => send(client, call));
	await show(
		context,
		{ ...pair, ...answer },
		visible(`${plan.length} promoted from ${pair.from} to ${pair.to} of ${pair.realm}`),
	);
}

/** Picks the secrets to copy: those of the named keys, or of all, that differ at the destination. */
function choose(secrets: readonly Answer[], keys: readonly string[], { realm, from }: Pair): Answer[] {
	const there = secrets.filter((row) => text(row, "status") !== "only_in_to");
	const missing = keys.filter((key) => !there.some((row) => text(row, "key") === key));
	if (missing.length > 0) {
		const known = there.map((row) => text(row, "key"));
		const hint = "`svc diff` shows what there is";
		throw notFound({ noun: "secret", typed: missing, within: `${realm}/${from}`, known, hint });
	}
	return there.filter((row) => isDifferent(row) && (keys.length === 0 || keys.includes(text(row, "key"))));
}

async function showPlan(context: Context<PromoteOptions>, pair: Pair, plan: readonly Answer[]): Promise<void> {
	const lines = plan.map((row) => [effectOf(row), text(row, "key"), ...versionsOf(row)]);
	const document = { dry_run: context.options.dryRun === true, ...pair, secrets: plan };
	await showTable(context, document, ["EFFECT", "KEY", ...titlesOf(pair)], lines, "nothing to promote: they are equal");
	if (plan.length > 0) await note(context, `${plan.length} to promote; nothing was written`);
}

function effectOf(row: Answer): string {
	return text(row, "status") === "only_in_from" ? "add" : "change";
}

async function ask({ io }: Context, { realm, from, to }: Pair, plan: readonly Answer[]): Promise<void> {
	if (!isInteractive(io))
		throw new Failure("usage", "promoting needs --yes where svc cannot ask", {
			hint: "--dry-run shows what it would do",
		});
	const listed = plan.map((row) => `${effectOf(row)} ${text(row, "key")}`).join(", ");
	if (!(await confirm(io, visible(`In ${to} of ${realm}, as in ${from}: ${listed}. Promote?`))))
		throw new Failure("failed", "nothing was promoted");
}
