import type { Command } from "commander";
import { count, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type CommandSpec, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../input/realm-scope.ts";
import { readValue, VALUE_HELP, VALUE_OPTIONS, type ValueOptions } from "../input/value.ts";
import { type Io, write } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { instants } from "../io/table.ts";
import { addHistoryCommands, parseVersion } from "./history.ts";
import { addDeleteCommands, listDeleted } from "./secret-deletion.ts";

interface SetOptions extends EnvironmentOptions, ValueOptions {
	readonly comment?: string;
	readonly expiresAt?: string;
	readonly preEncrypted?: boolean;
	readonly ifVersion?: string;
}

interface GetOptions extends EnvironmentOptions {
	readonly version?: string;
}

interface ListOptions extends EnvironmentOptions {
	readonly search?: string;
	readonly deleted?: boolean;
	readonly showValues?: boolean;
	readonly allEnvironments?: boolean;
}

const SET: CommandSpec<SetOptions> = {
	usage: "set <key> [value]",
	summary: "write a secret; KEY VALUE and KEY=VALUE work, too",
	details: VALUE_HELP,
	options: [
		...ENVIRONMENT_OPTIONS,
		...VALUE_OPTIONS,
		option("--comment <text>", "why it was written"),
		option("--expires-at <instant>", "when it should be replaced, such as 2030-01-31T00:00:00Z"),
		option("--pre-encrypted", "the value is ciphertext of `svc encrypt`"),
		option("--if-version <number>", "only if this is the current version; 0: only if the secret does not exist"),
	],
	examples: [
		"svc secret set DATABASE_URL --realm shop --env prod",
		"svc secret set TLS_KEY --realm shop --from-file key.pem",
		"openssl rand -hex 32 | svc secret set SESSION_KEY --realm shop --trim",
	],
	run: setSecret,
};

const GET: CommandSpec<GetOptions> = {
	usage: "get <key>",
	summary: "print the value of a secret",
	details: "svc adds a line break after the value only on a terminal: a file or a pipe gets exactly its bytes.",
	options: [...ENVIRONMENT_OPTIONS, option("--version <number>", "an earlier version (see `svc secret history`)")],
	examples: ["svc secret get DATABASE_URL --realm shop --env prod", "svc secret get TLS_KEY --realm shop > key.pem"],
	run: getSecret,
};

const LIST: CommandSpec<ListOptions> = {
	usage: "list",
	summary: "list the secrets of an environment, without their values",
	options: [
		...ENVIRONMENT_OPTIONS,
		option("--all-environments", "list all environments").conflicts("env"),
		option("--search <text>", "only keys that contain it, in upper or lower case"),
		option("--show-values", "also show the values"),
		option("--deleted", "list those that were deleted and can be restored").conflicts(["showValues", "search"]),
	],
	examples: [
		"svc secret list --realm shop --env prod",
		"svc secret list --search database",
		"svc secret list --realm shop --all-environments --json",
	],
	isList: true,
	run: listSecrets,
};

/** Adds the commands of secrets. */
export function addSecretCommands(program: Command, io: Io): void {
	const secret = addGroup(program, "secret", "secrets of a realm, per environment");
	addCommand(secret, io, SET);
	addCommand(secret, io, GET);
	addCommand(secret, io, LIST);
	addDeleteCommands(secret, io);
	addHistoryCommands(secret, io);
}

/** Adds the short forms of the commands that people type all day. */
export function addShortForms(program: Command, io: Io): void {
	addCommand(program, io, shortForm("ls", LIST));
	addCommand(program, io, shortForm("get <key>", GET));
	addCommand(program, io, shortForm("set <key> [value]", SET));
}

function shortForm<Options>(usage: string, spec: CommandSpec<Options>): CommandSpec<Options> {
	const [word = ""] = usage.split(" ");
	const [full = ""] = spec.usage.split(" ");
	const examples = spec.examples.map((example) => example.replace(`svc secret ${full}`, `svc ${word}`));
	return { ...spec, usage, examples, summary: `short for \`svc secret ${full}\`: ${spec.summary}` };
}

async function setSecret(context: Context<SetOptions>, word: string, given?: string): Promise<void> {
	const { comment, expiresAt, preEncrypted, ifVersion } = context.options;
	const current = ifVersion === undefined ? {} : { if_version: ifVersion === "0" ? null : parseVersion(ifVersion) };
	const [realm, environment] = [realmOf(context), environmentOf(context)];
	const [key, inline] = splitAssignment(word);
	if (inline !== undefined && given !== undefined)
		throw new Failure("usage", "give the value either as KEY VALUE or as KEY=VALUE");
	const client = await connect(context);
	const body = {
		key,
		value: await readValue(context, inline ?? given),
		environment,
		...(comment === undefined ? {} : { comment }),
		...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
		...(preEncrypted === true ? { pre_encrypted: true } : {}),
		...current,
	};
	const answer = await send(client, { method: "POST", path: path`realms/${realm}/secrets`, body });
	await show(
		context,
		answer,
		`${visible(`${key} set in ${realm}/${environment}`)}, version ${count(answer, "version")}`,
	);
}

// Keys contain no `=`.
function splitAssignment(word: string): [key: string, value: string | undefined] {
	const at = word.indexOf("=");
	return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

async function getSecret(context: Context<GetOptions>, key: string): Promise<void> {
	const { io, options } = context;
	const [realm, env] = [realmOf(context), environmentOf(context)];
	const query = { env, ...(options.version === undefined ? {} : { version: String(parseVersion(options.version)) }) };
	const answer = await send(await connect(context), {
		method: "GET",
		path: path`realms/${realm}/secrets/${key}`,
		query,
	});
	if (options.json === true) return show(context, answer, "");
	await write(io.stdout, text(answer, "value") + (io.stdout.isTTY === true ? "\n" : ""));
}

async function listSecrets(context: Context<ListOptions>): Promise<void> {
	if (context.options.deleted === true) return listDeleted(context);
	const { allEnvironments, search, showValues = false } = context.options;
	const realm = realmOf(context);
	const query = {
		...(allEnvironments === true ? {} : { env: environmentOf(context) }),
		...(showValues ? {} : { values: "false" }),
	};
	const client = await connect(context);
	const all = await readAll(context, client, path`realms/${realm}/secrets`, "secrets", query);
	const found = all.filter((secret) => isFound(text(secret, "key"), search));
	const secrets = showValues ? found : found.map(({ value: _, ...shown }) => shown);
	const lines = found.map((secret) => [
		text(secret, "key"),
		text(secret, "environment"),
		String(count(secret, "version")),
		text(secret, "updated_at"),
		...(showValues ? [text(secret, "value")] : []),
	]);
	const titles = ["KEY", "ENV", "VERSION", instants("UPDATED"), ...(showValues ? ["VALUE"] : [])];
	const none = all.length === 0 ? noSecrets(realm, query.env) : `none of ${all.length} keys contains this`;
	await showTable(context, { secrets }, titles, lines, none);
}

/** Names the place that was looked at: the usual environment is not the one that somebody wrote to with --env. */
function noSecrets(realm: string, environment: string | undefined): string {
	const place = environment === undefined ? realm : `${realm}/${environment}`;
	return visible(`no secrets in ${place} yet: \`svc secret set\` writes one, --env names another environment`);
}

function isFound(key: string, search = ""): boolean {
	return key.toLowerCase().includes(search.toLowerCase());
}
