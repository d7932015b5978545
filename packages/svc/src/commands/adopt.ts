import type { Context, LocalCommand } from "@svc/cli/command";
import { option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { type Io, isInteractive } from "@svc/cli/io";
import { note, showFields, visible } from "@svc/cli/output";
import { withProgress, withQuestion } from "@svc/cli/progress";
import { confirm } from "@svc/cli/prompt";
import type { Adoptable } from "@svc/server/offline";
import { describeAdoptable } from "./adoptable.ts";
import { explainBackup } from "./backup-verify.ts";

interface AdoptOptions {
	readonly again?: boolean;
	readonly look?: boolean;
	readonly yes?: boolean;
}

/** `svc adopt`: believes a database as it is, while no server runs, or after it stopped one that refuses every request. */
export const ADOPT: LocalCommand<AdoptOptions> = {
	usage: "adopt",
	summary: "accept the rows of a database from an older release, or of one that was altered; stop the server first",
	details:
		"Each row gets a code that only the master key can make, so that from then on the server believes nothing that another program writes. Look at what it shows: first what does not fit, and every row that grants something other than the audit log says; then, by name, the administrators, owners, roles, tokens, configurations, providers, identities, machines, their tokens and trusts, and invitations that it would accept. With `--yes` it shows the same. A backup is made first. With SQLite, `--again` stops a server on this machine that answers every request with 503 `database_altered`; start it again afterwards. Stop any other server yourself. Run it as the server's user, with the server's settings and its master key.",
	options: [
		option("--again", "accept a database again as it is now, after an alteration"),
		option("--look", "show it and change nothing; exits with 0 only if rows and audit log fit, else with 1").conflicts([
			"again",
			"yes",
		]),
		option("--yes", "do not ask"),
	],
	examples: ["svc adopt", "svc adopt --look --json", "svc adopt --again"],
	run: adopt,
};

async function adopt(context: Context<AdoptOptions>): Promise<void> {
	const { io, options } = context;
	if (options.look === true) return look(context);
	if (options.yes !== true && !isInteractive(io))
		throw new Failure("usage", "adopting needs --yes where nobody can be asked");
	process.umask(0o077);
	const { adoptDatabase, readConfig } = await import("@svc/server/offline");
	const config = readConfig(io.env, io.cwd());
	const again = options.again === true;
	let ended: number | undefined;
	const onEnding = (pid: number) => {
		ended = pid;
	};
	const adopted = await withQuestion(
		context,
		["looking through the database", "adopting it"],
		(confirm) => adoptDatabase(config, { again, confirm, onEnding }),
		async (found: Adoptable) => {
			await showFound(context, found);
			return options.yes === true || ask(io, config.database === undefined ? `in ${config.data_dir}` : "on PostgreSQL");
		},
	)
		.catch(explainBackup)
		.finally(
			() =>
				ended && note(context, `the server (process ${ended}) refused every request and was stopped: start it again`),
		);
	if (adopted === undefined) throw new Failure("failed", "nothing was adopted");
	await showFields(context, adopted, [
		["adopted", `${adopted.rows} rows`],
		["backup", adopted.backup],
	]);
}

/** Compares rows, keys and log of a database that no server uses: as `svc audit verify` and `svc doctor --deep` do through a server. */
async function look(context: Context<AdoptOptions>): Promise<void> {
	const { io } = context;
	process.umask(0o077);
	const { inspectDatabase, readConfig } = await import("@svc/server/offline");
	const config = readConfig(io.env, io.cwd());
	const found = await withProgress(context, "looking through the database", () => inspectDatabase(config)).catch(
		explainBackup,
	);
	const { misfits, log, differences, strange } = found;
	await showFound(context, found);
	const isSound = log.status === "intact" && misfits.length + differences.length + strange.length === 0;
	const status = isSound ? "sound" : "altered";
	const { events, seq } = log;
	await showFields(context, { status, log: { status: log.status, events, seq }, misfits, differences, strange }, [
		["status", status],
		["events", String(events)],
		["rows that differ from the log", String(differences.length)],
		["events of somebody who was not there", String(strange.length)],
	]);
	if (!isSound) throw new Failure("failed", "the database is not as the server left it", { code: "rows_differ" });
}

/** Shows what would be believed, on stderr: the result alone is on stdout. */
async function showFound(context: Context<AdoptOptions>, found: Adoptable): Promise<void> {
	for (const line of describeAdoptable(found)) await note(context, visible(line));
}

function ask(io: Io, where: string): Promise<boolean> {
	return confirm(io, visible(`Believe all rows of the database ${where} as they are?`));
}
