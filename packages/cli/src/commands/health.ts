import type { Command } from "commander";
import { type Answer, isAnswer, object, optional, text } from "../client/answer.ts";
import { send } from "../client/client.ts";
import { connectTo, findTarget } from "../client/connection.ts";
import { addCommand, type Context } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { showFields } from "../io/output.ts";

/** Adds the commands that show the server's health. */
export function addHealthCommand(program: Command, io: Io): void {
	addCommand(program, io, {
		usage: "health",
		summary: "show the server's health; needs no login",
		examples: ["svc health", "svc health --json --address https://127.0.0.1:8443"],
		run: showHealth,
	});
	addCommand(program, io, {
		usage: "status",
		summary: "short for `svc health`: exits with 0 only when the server is healthy",
		examples: ["svc status"],
		run: showHealth,
	});
}

/** Says why the server's database does not work, and what to do. */
function troubleIn({ store }: Answer): [name: string, text: string][] {
	const message = isAnswer(store) ? optional(store, "message") : "";
	return message === "" ? [] : [["trouble", `${message}: ${optional(store as Answer, "hint")}`]];
}

async function showHealth(context: Context): Promise<void> {
	const target = await findTarget(context);
	const client = await connectTo(context, target, undefined);
	const health = await send(client, { method: "GET", path: "health", accept: [503] });
	const status = text(health, "status");
	const checks = Object.entries(object(health, "checks")).map(
		([name, state]) => [name, String(state), "state"] as const,
	);
	await showFields(context, health, [
		["address", target.address],
		["status", status, "state"],
		["version", optional(health, "version")],
		["commit", optional(health, "commit")],
		["built", optional(health, "built"), "instant"],
		["mode", optional(health, "mode")],
		...checks,
		...troubleIn(health),
	]);
	if (status !== "healthy")
		throw new Failure("unreachable", "the server is not healthy", { code: "unhealthy", status: 503 });
}
