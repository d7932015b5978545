import type { Command } from "commander";
import { rows, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { addCommand, addGroup, addLocalCommands, type Context } from "../command-line/command.ts";
import { bashScript } from "../completion/bash.ts";
import { fishScript } from "../completion/fish.ts";
import { type Position, positionsOf } from "../completion/positions.ts";
import { zshScript } from "../completion/zsh.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../input/realm-scope.ts";
import { type Io, write } from "../io/io.ts";

/** Each shell's script and its use. */
const SHELLS: Readonly<Record<string, { script(positions: readonly Position[]): string; example: string }>> = {
	bash: { script: bashScript, example: "source <(svc completion bash)     # in ~/.bashrc" },
	zsh: { script: zshScript, example: "source <(svc completion zsh)      # in ~/.zshrc, after compinit" },
	fish: { script: fishScript, example: "svc completion fish > ~/.config/fish/completions/svc.fish" },
};

const DETAILS =
	"The shell asks the session's server for names of realms, keys, machines and engines, for at most a second. It never asks for values.";

/** Adds the commands for shell completion: the scripts, and the hidden command that they ask for names. */
export function addCompletionCommands(program: Command, io: Io): void {
	addGroup(program, "completion", "let your shell complete commands, options, realms and keys");
	const commands = Object.entries(SHELLS).map(([shell, { script, example }]) => ({
		group: "completion",
		usage: shell,
		summary: `print the script for ${shell}`,
		details: DETAILS,
		examples: [example],
		run: () => write(io.stdout, script(positionsOf(program))),
	}));
	addLocalCommands(program, io, commands);
	addCommand<EnvironmentOptions>(program, io, {
		usage: "complete <kind>",
		summary: "print the names of realms, keys, machines or engines",
		isHidden: true,
		options: ENVIRONMENT_OPTIONS,
		examples: ["svc complete keys --realm shop"],
		run: printNames,
	});
}

/** Milliseconds for the answer: a person who pressed a key waits no longer. */
const PATIENCE_MS = 1000;
/** Names that no shell interprets. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_./-]*$/;

/** One page is enough. After an error it offers nothing and prints nothing, which would appear in the middle of your line. */
async function printNames(context: Context<EnvironmentOptions>, kind: string): Promise<void> {
	try {
		const client = { ...(await connect(context)), timeoutMs: PATIENCE_MS };
		const names = (await listNames(context, client, kind)).filter((name) => PLAIN.test(name));
		await write(context.io.stdout, names.map((name) => `${name}\n`).join(""));
	} catch {}
}

async function listNames(context: Context<EnvironmentOptions>, client: Client, kind: string): Promise<string[]> {
	const list = async (at: string, field: string, name: string, query = {}) =>
		rows(await send(client, { method: "GET", path: at, query }), field).map((row) => text(row, name));
	if (kind === "realms") return list("realms", "realms", "slug", { limit: "100" });
	if (kind === "engines") return list("engines", "engines", "type");
	if (kind === "machines") return list(path`realms/${realmOf(context)}/machines`, "machines", "name", { limit: "100" });
	if (kind !== "keys") return [];
	const query = { env: environmentOf(context), values: "false", limit: "100" };
	return list(path`realms/${realmOf(context)}/secrets`, "secrets", "key", query);
}
