import type { Command } from "commander";
import { count, optional, text, whoOf } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, type Context } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { instants } from "../io/table.ts";

/** Adds the commands of a secret's versions. */
export function addHistoryCommands(secret: Command, io: Io): void {
	addCommand<EnvironmentOptions>(secret, io, {
		usage: "history <key>",
		summary: "list the versions of a secret, without their values",
		options: ENVIRONMENT_OPTIONS,
		examples: ["svc secret history DATABASE_URL --realm shop --env prod"],
		isList: true,
		run: listVersions,
	});
	addCommand<EnvironmentOptions>(secret, io, {
		usage: "rollback <key> <version>",
		summary: "write an earlier value again, as a new version",
		options: ENVIRONMENT_OPTIONS,
		examples: ["svc secret rollback DATABASE_URL 3 --realm shop --env prod"],
		run: rollBack,
	});
}

async function listVersions(context: Context<EnvironmentOptions>, key: string): Promise<void> {
	const [realm, env] = [realmOf(context), environmentOf(context)];
	const client = await connect(context);
	const list = path`realms/${realm}/secrets/${key}/versions`;
	const versions = await readAll(context, client, list, "versions", { env, names: "true" });
	const isEnding = versions.some((version) => optional(version, "expires_at") !== "");
	const lines = versions.map((version) => [
		String(count(version, "version")),
		text(version, "created_at"),
		whoOf(version, "created_by"),
		optional(version, "comment"),
		...(isEnding ? [optional(version, "expires_at")] : []),
	]);
	const titles = ["VERSION", instants("WRITTEN"), "BY", "COMMENT", ...(isEnding ? [instants("EXPIRES")] : [])];
	await showTable(context, { versions }, titles, lines, "no versions");
}

async function rollBack(context: Context<EnvironmentOptions>, key: string, wanted: string): Promise<void> {
	const [realm, env] = [realmOf(context), environmentOf(context)];
	const answer = await send(await connect(context), {
		method: "POST",
		path: path`realms/${realm}/secrets/${key}/rollback`,
		query: { env },
		body: { version: parseVersion(wanted) },
	});
	await show(
		context,
		answer,
		`${visible(`${key} in ${realm}/${env}`)} is as in version ${wanted} again, now version ${count(answer, "version")}`,
	);
}

/** Parses the number of a version. @throws Failure usage when it is none */
export function parseVersion(text: string): number {
	if (!/^[1-9]\d{0,14}$/.test(text)) throw new Failure("usage", "a version is a number of at least 1");
	return Number(text);
}
