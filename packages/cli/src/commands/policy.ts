import type { Command } from "commander";
import { type Answer, isAnswer, optional, rows, text, whoOf } from "../client/answer.ts";
import { send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { type EnvironmentOptions, REALM_OPTION, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { note, showFields, showTable, visible } from "../io/output.ts";
import { states } from "../io/table.ts";

interface ExplainOptions extends EnvironmentOptions {
	readonly user?: string;
	readonly capability?: string;
}

/** Adds the commands that explain what is allowed. */
export function addPolicyCommands(program: Command, io: Io): void {
	const policy = addGroup(program, "policy", "what is allowed, and why");
	addCommand<ExplainOptions>(policy, io, {
		usage: "explain",
		summary: "explain what you may do in a realm, why, and which command gives you the rest",
		details:
			"With an API token: what that token may do. Only admins of the realm may ask about others in it, and the answer is what those may do when signed in; their API tokens may be able to do less. Only the instance admin may ask about somebody without a role there. A realm that you are not in is not found.",
		options: [
			option("--user <user>", "another user, by id or e-mail"),
			REALM_OPTION,
			option("--env <name>", "in this environment: a token may be valid in only one"),
			option("--capability <name>", "this one only, such as secrets:write"),
		],
		examples: [
			"svc policy explain --realm shop",
			"svc policy explain --user ada@example.com --realm shop --capability secrets:write --env prod",
		],
		isList: true,
		run: explain,
	});
}

async function explain(context: Context<ExplainOptions>): Promise<void> {
	const { user, capability, env } = context.options;
	const query = {
		realm: realmOf(context),
		...(user === undefined ? {} : { user }),
		...(capability === undefined ? {} : { capability }),
		...(env === undefined ? {} : { env }),
		names: "true",
	};
	const answer = await send(await connect(context), { method: "GET", path: "policy/explain", query });
	if (context.options.json !== true) {
		await showFields(context, answer, aboutWho(answer));
		await note(context, "");
	}
	const verdicts = rows(answer, "verdicts");
	const lines = verdicts.map((verdict) => [
		text(verdict, "capability"),
		text(verdict, "scope"),
		verdict.allowed === true ? "yes" : "no",
		text(verdict, "reason"),
	]);
	await showTable(context, answer, ["CAPABILITY", "SCOPE", states("ALLOWED"), "WHY"], lines, "nothing");
	for (const command of new Set(verdicts.map((verdict) => text(verdict, "command")).filter((one) => one !== "")))
		await note(context, visible(`what is missing: ${command}`));
}

function aboutWho(answer: Answer): [string, string][] {
	const role = text(answer, "role") || "none";
	const token = isAnswer(answer.token) ? answer.token : undefined;
	const limits = ["scopes", "environment", "expires_at"].map((name) => (token ? optional(token, name) : ""));
	return [
		["realm", text(answer, "realm")],
		["user", whoOf(answer, "user_id")],
		["role", answer.is_owner === true ? `${role === "none" ? "admin" : role} (owner)` : role],
		...(answer.instance_admin === true
			? [["instance admin", "yes: of the server, not of what is in realms"] as [string, string]]
			: []),
		...(answer.disabled === true ? [["account", "disabled"] as [string, string]] : []),
		...(token ? [["token", limits.filter((limit) => limit !== "").join(" ")] as [string, string]] : []),
	];
}
