import type { Command } from "commander";
import { type Answer, count, object, rows, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { findUser } from "../client/find-user.ts";
import { listAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { note, show, showFields, showTable, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { confirmUnless } from "../io/prompt.ts";
import { ids, instants, states } from "../io/table.ts";
import { USERS_DROP_SECOND_FACTOR, USERS_RESET } from "./reset.ts";
import { limitFields, USERS_LIMITS } from "./users-limits.ts";

interface DisableOptions {
	readonly yes?: boolean;
}

interface AdminOptions {
	readonly remove?: boolean;
	readonly yes?: boolean;
}

const INSTANCE_ONLY = "Only for the instance's administrators. A user is named by id or e-mail.";

/** Accounts that one search shows. */
const MAX_FOUND = 100;

/** Adds the commands of everybody's accounts. */
export function addUsersCommands(program: Command, io: Io): void {
	const users = addGroup(program, "users", "everybody's accounts, for the instance's administrators");
	addCommand(users, io, {
		usage: "list",
		summary: "list the accounts",
		details: INSTANCE_ONLY,
		examples: ["svc users list", "svc users list --json"],
		isList: true,
		run: listUsers,
	});
	addCommand(users, io, {
		usage: "find <text>",
		summary: "find accounts whose e-mail or name contains a text, in upper or lower case",
		details: `${INSTANCE_ONLY} It shows ${MAX_FOUND} accounts at most.`,
		examples: ["svc users find ada", "svc users find @example.com"],
		isList: true,
		run: findUsers,
	});
	addCommand(users, io, {
		usage: "show <user>",
		summary: "show an account, how much it holds, and its own limits",
		details: INSTANCE_ONLY,
		examples: ["svc users show ada@example.com"],
		run: showUser,
	});
	addCommand<DisableOptions>(users, io, {
		usage: "disable <user>",
		summary: "disable an account: sessions end, API tokens stop working until it is enabled",
		details: `${INSTANCE_ONLY} Credentials that engines made for them stay valid: \`svc revoke --user\` ends those.`,
		options: [option("--yes", "do not ask")],
		examples: ["svc users disable ada@example.com", "svc users disable ada@example.com --yes"],
		run: disableUser,
	});
	addCommand(users, io, {
		usage: "enable <user>",
		summary: "enable an account: its password and API tokens work again",
		details: INSTANCE_ONLY,
		examples: ["svc users enable ada@example.com"],
		run: enableUser,
	});
	addCommand<AdminOptions>(users, io, {
		usage: "admin <user>",
		summary: "make a user an instance admin, or remove that right",
		details: `${INSTANCE_ONLY} It takes a session, not an API token. The last enabled instance admin stays one.`,
		options: [option("--remove", "remove the right"), option("--yes", "do not ask")],
		examples: ["svc users admin bob@example.com", "svc users admin ada@example.com --remove"],
		run: setAdmin,
	});
	addCommand(users, io, USERS_RESET);
	addCommand(users, io, USERS_DROP_SECOND_FACTOR);
	addCommand(users, io, USERS_LIMITS);
}

/** `disabled`, `administrator` or both. */
function standingOf(user: Answer): string {
	return [user.instance_admin === true ? "administrator" : "", user.disabled === true ? "disabled" : ""]
		.filter((word) => word !== "")
		.join(", ");
}

async function listUsers(context: Context): Promise<void> {
	await showUsers(context, await lookThrough(context, () => true), "nobody");
}

async function findUsers(context: Context, wanted: string): Promise<void> {
	const isFound = (user: Answer) =>
		[text(user, "email"), text(user, "name")].some((word) => word.toLowerCase().includes(wanted.toLowerCase()));
	const found = await lookThrough(context, isFound, MAX_FOUND + 1);
	const hasMore = found.length > MAX_FOUND;
	await showUsers(context, found.slice(0, MAX_FOUND), "nobody: `svc users list` shows all");
	if (hasMore) await note(context, `there are more than ${MAX_FOUND}: give more of the e-mail`);
}

/** Finds accounts among all. @param most how many are enough */
async function lookThrough(
	context: Context,
	isFound: (user: Answer) => boolean,
	most = Number.POSITIVE_INFINITY,
): Promise<Answer[]> {
	const client = await connect(context);
	return withProgress(context, "looking through the accounts", async (report) => {
		const found: Answer[] = [];
		let seen = 0;
		for await (const user of listAll(client, "users", "users")) {
			seen += 1;
			report(`${seen}`);
			if (isFound(user)) found.push(user);
			if (found.length >= most) break;
		}
		return found;
	});
}

async function showUsers(context: Context, users: readonly Answer[], nobody: string): Promise<void> {
	const lines = users.map((user) => [
		text(user, "id"),
		text(user, "email"),
		text(user, "name"),
		text(user, "created_at"),
		standingOf(user),
	]);
	await showTable(
		context,
		{ users },
		[ids("ID"), "EMAIL", "NAME", instants("CREATED"), states("STANDING")],
		lines,
		nobody,
	);
}

async function showUser(context: Context, name: string): Promise<void> {
	const user = await findUser(await connect(context), name);
	await showFields(context, user, [
		["id", text(user, "id")],
		["email", text(user, "email")],
		["name", text(user, "name")],
		["created", text(user, "created_at"), "instant"],
		["standing", standingOf(user), "state"],
		["sessions", String(count(user, "sessions"))],
		["tokens", String(count(user, "tokens"))],
		["signs in at", rows(user, "identities").map(nameOf).join(", ")],
		["realms", String(count(user, "realms"))],
		...limitFields(object(user, "limits")).map(([name, limit]): [string, string] => [`limit of ${name}`, limit]),
	]);
}

const nameOf = (identity: Answer): string => `${text(identity, "provider")} (${text(identity, "subject")})`;

async function disableUser(context: Context<DisableOptions>, name: string): Promise<void> {
	const client = await connect(context);
	const user = await findUser(client, name);
	const email = visible(text(user, "email"));
	await confirmUnless(context, `Disable ${email}?`, { doing: "disabling an account", done: "disabled" });
	const answer = await send(client, { method: "POST", path: path`users/${text(user, "id")}/disable` });
	await show(context, answer, `${email} is disabled`);
	await note(context, `credentials that engines made stay valid: \`svc revoke --user ${email}\` ends them`);
}

async function enableUser(context: Context, name: string): Promise<void> {
	const client = await connect(context);
	const user = await findUser(client, name);
	const answer = await send(client, { method: "POST", path: path`users/${text(user, "id")}/enable` });
	await show(context, answer, `${visible(text(user, "email"))} is enabled`);
}

async function setAdmin(context: Context<AdminOptions>, name: string): Promise<void> {
	const client = await connect(context);
	const user = await findUser(client, name);
	const email = visible(text(user, "email"));
	const isAdmin = context.options.remove !== true;
	const question = isAdmin
		? `Let ${email} manage the instance: all accounts, engines, providers, keys and backups?`
		: `Take the management of the instance from ${email}?`;
	await confirmUnless(context, question, { doing: "changing who manages the instance", done: "changed" });
	const body = { instance_admin: isAdmin };
	const answer = await send(client, { method: "PUT", path: path`users/${text(user, "id")}`, body });
	await show(context, answer, `${email} is ${isAdmin ? "an instance admin" : "no instance admin any more"}`);
}
