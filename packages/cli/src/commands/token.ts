import type { Command } from "commander";
import { type Answer, optional, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { notFound } from "../command-line/not-found.ts";
import { Failure } from "../failure.ts";
import { parseDuration } from "../input/duration.ts";
import { repeatable } from "../input/fields.ts";
import { ENVIRONMENTS } from "../input/realm-scope.ts";
import { listOf, USER_OPTION, type WhoseOptions } from "../input/whose.ts";
import type { Io } from "../io/io.ts";
import { note, show, showTable, visible } from "../io/output.ts";
import { askHidden, readStdin } from "../io/prompt.ts";
import { type Column, ids, instants } from "../io/table.ts";

interface CreateOptions {
	readonly scopes?: string;
	readonly realm?: string;
	readonly env?: string;
	readonly engine?: readonly string[];
	readonly expiresAt?: string;
	readonly ttl?: string;
	readonly purpose?: string;
}

const DETAILS = `A token for an environment reads and writes its secrets, within the token's scopes, and nothing else: no bindings, engines, leases or events. A token for roles of engines creates and revokes those credentials, and nothing else.
A token created with a token ends with it. \`--purpose backup\`, for the instance's administrators, makes one that creates, lists and downloads backups, and nothing else, as long as you administer the instance.`;
/** The limits of a token that one with a purpose has not. */
const NOT_WITH_PURPOSE = ["scopes", "realm", "env", "engine"];

/** Adds the commands of API tokens. */
export function addTokenCommands(program: Command, io: Io): void {
	const token = addGroup(program, "token", "API tokens for machines");
	addCommand<CreateOptions>(token, io, {
		usage: "create <name>",
		summary: "create a token and print it once",
		options: [
			option("--scopes <list>", "any of read, write and delete, separated by commas; read by default"),
			option("--realm <slug>", "valid only in this realm"),
			option("--env <name>", "valid only in this environment").choices(ENVIRONMENTS),
			repeatable("--engine <type:role>", "valid only for credentials of this role in --realm; with --env, for both"),
			option("--purpose <name>", "valid only for this").choices(["backup"]).conflicts(NOT_WITH_PURPOSE),
			option("--ttl <duration>", "how long it is valid, such as 12h or 90d").conflicts("expiresAt"),
			option("--expires-at <instant>", "when it ends, such as 2030-01-31T00:00:00Z"),
		],
		details: DETAILS,
		examples: [
			"svc token create ci --scopes read --realm shop --env prod --ttl 90d",
			"svc token create cache --realm shop --engine keyvalue:readonly",
			"svc token create nightly --purpose backup --ttl 365d",
			"SVC_TOKEN=$(svc token create deploy)",
		],
		run: createToken,
	});
	addCommand<WhoseOptions>(token, io, {
		usage: "list",
		summary: "list your tokens, without their values",
		options: [USER_OPTION],
		examples: ["svc token list", "svc token list --user ada@example.com"],
		isList: true,
		run: listTokens,
	});
	addCommand<WhoseOptions>(token, io, {
		usage: "revoke <token>",
		summary: "revoke a token, by its name, prefix or id, effective immediately",
		options: [USER_OPTION],
		details:
			"You can name a leaked token by its value: give `-`, and svc asks for it without showing it, or reads it from standard input.",
		examples: [
			"svc token revoke ci",
			"svc token revoke svc_1a2b3c4d",
			"svc token revoke 0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d",
			"svc token revoke - < leaked",
			"svc token revoke deploy --user ada@example.com",
		],
		run: revokeToken,
	});
}

async function createToken(context: Context<CreateOptions>, name: string): Promise<void> {
	const { scopes, realm, env, engine = [], purpose } = context.options;
	const expiresAt = endOf(context.options);
	const body = {
		name,
		...(scopes === undefined ? {} : { scopes }),
		...(realm === undefined ? {} : { realm }),
		...(env === undefined ? {} : { environment: env }),
		...(engine.length === 0 ? {} : { engines: engine }),
		...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
		...(purpose === undefined ? {} : { purpose }),
	};
	const answer = await send(await connect(context), { method: "POST", path: "auth/tokens", body });
	await show(context, answer, visible(text(answer, "token")));
	const end = expiresAt === undefined ? "" : `, ends at ${expiresAt}`;
	await note(
		context,
		visible(
			`token ${name} (${reachOf(context.options, text(answer, "scopes"))}) has the id ${text(answer, "id")}${end} and is not shown again`,
		),
	);
}

function endOf({ expiresAt, ttl }: CreateOptions): string | undefined {
	return ttl === undefined ? expiresAt : new Date(Date.now() + parseDuration("--ttl", ttl)).toISOString();
}

/** Use of a new token, in words. */
function reachOf({ realm, env, engine = [], purpose }: CreateOptions, scopes: string): string {
	if (purpose !== undefined) return `for ${purpose} alone`;
	return `${scopes}; ${reachText(env, engine)} of ${realm ?? "every realm"}`;
}

/** Says which environment's secrets and which roles of engines these limits leave, such as `prod and pki:client`. */
export function reachText(environment: string | undefined, engines: readonly string[]): string {
	const roles = engines.length === 0 ? [] : [engines.join(",")];
	const secrets = environment !== undefined || engines.length === 0 ? [environment ?? "every environment"] : [];
	return [...secrets, ...roles].join(" and ");
}

async function listTokens(context: Context<WhoseOptions>): Promise<void> {
	const client = await connect(context);
	const tokens = await readAll(context, client, await listOf(client, context.options, "tokens"), "tokens");
	const lines = tokens.map((token) => [
		text(token, "id"),
		text(token, "prefix"),
		text(token, "name"),
		text(token, "scopes"),
		text(token, "created_at"),
	]);
	const titles = [ids("ID"), "PREFIX", "NAME", "SCOPES", instants("CREATED")];
	const extra = ["purpose", "realm", "realm_id", "environment", "engines", "expires_at", "last_used_at"].filter(
		(field) => tokens.some((token) => cell(token, field)),
	);
	const wide = lines.map((line, index) => [...line, ...extra.map((field) => cell(tokens[index] ?? {}, field))]);
	const heads = extra.map((field) => headOf(field));
	const none = context.options.user === undefined ? "no tokens yet: `svc token create` makes one" : "no tokens";
	await showTable(context, { tokens }, [...titles, ...heads], wide, none);
}

function headOf(field: string): Column {
	const title = field.replace(/_at$/, "").replaceAll("_", " ").toUpperCase();
	if (field.endsWith("_at")) return instants(title);
	return field.endsWith("_id") ? ids(title) : title;
}

function cell(token: Answer, field: string): string {
	const { [field]: value } = token;
	return Array.isArray(value) ? value.join(",") : optional(token, field);
}

/** A UUID. */
export const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

async function revokeToken(context: Context<WhoseOptions>, token: string): Promise<void> {
	const { user } = context.options;
	const client = await connect(context);
	const tokens = await listOf(client, context.options, "tokens");
	const theirs = { tokens, whose: "of their", hint: "`svc token list --user USER` shows theirs" };
	const among = user === undefined ? YOURS : theirs;
	const id = await findToken(context, client, await typedToken(context, token), among);
	const answer = await send(client, { method: "DELETE", path: `${tokens}/${path`${id}`}` });
	await show(context, answer, visible(text(answer, "message")));
}

/** The word that names a token: for `-` the token itself, from the terminal or standard input. @throws Failure usage when that has none */
export async function typedToken({ io }: Context, word: string): Promise<string> {
	if (word !== "-") return word;
	const token = io.stdin.isTTY === true ? await askHidden(io, "Token (hidden): ") : (await readStdin(io)).toString();
	if (token.trim() === "") throw new Failure("usage", "standard input has no token");
	return token.trim();
}

/** A list of tokens, and its words in messages. */
interface Tokens {
	/** Path of the list. */
	readonly tokens: string;
	readonly whose: string;
	readonly hint: string;
}

const YOURS: Tokens = { tokens: "auth/tokens", whose: "of your", hint: "`svc token list` shows yours" };

/**
 * The id of the token with this name or prefix, or of this token; an id is one already. It searches your tokens by default.
 * @throws Failure notFound when there is none, usage when there are several
 */
export async function findToken(
	context: Context,
	client: Client,
	typed: string,
	among: Tokens = YOURS,
): Promise<string> {
	if (ID.test(typed)) return typed;
	const tokens = await readAll(context, client, among.tokens, "tokens");
	const [found, ...others] = tokens.filter(
		(token) => typed !== "" && (text(token, "name") === typed || typed.startsWith(text(token, "prefix"))),
	);
	if (found === undefined) {
		const known = tokens.map((token) => text(token, "name"));
		throw notFound({ noun: "token", typed: [typed], known, hint: among.hint });
	}
	if (others.length === 0) return text(found, "id");
	throw new Failure(
		"usage",
		`${others.length + 1} ${among.whose} tokens have this name or prefix: nothing was changed`,
		{
			hint: `give the id: ${[found, ...others].map((token) => text(token, "id")).join(", ")}`,
		},
	);
}
