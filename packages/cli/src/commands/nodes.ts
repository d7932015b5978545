import type { Command } from "commander";
import { rows, text } from "../client/answer.ts";
import { send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { addCommand, addGroup, type Context } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { showTable } from "../io/output.ts";
import { ids, instants, states } from "../io/table.ts";

/** Adds the command that lists the servers of a database; `accept-loss` works on the machine of one. */
export function addNodesCommands(program: Command, io: Io): void {
	const nodes = addGroup(program, "nodes", "the servers that use the same database (`svc nodes` alone lists them)");
	addCommand(nodes, io, {
		usage: "list",
		isDefault: true,
		summary: "list the servers that use the same database, and when each was last seen",
		details:
			"Only for the instance's administrators. A server on SQLite is alone. One that has shown no sign of life for 10 seconds is silent; it is forgotten after a day. One that is stopped in order leaves the list immediately. The master keys are fingerprints: of the one that the server uses, and of the next one, where it was provided.",
		examples: ["svc nodes", "svc nodes --json"],
		isList: true,
		run: listNodes,
	});
}

async function listNodes(context: Context): Promise<void> {
	const answer = await send(await connect(context), { method: "GET", path: "nodes" });
	const names = [
		"name",
		"status",
		"version",
		"address",
		"started_at",
		"seen_at",
		"master_key",
		"next_master_key",
		"id",
	];
	const lines = rows(answer, "nodes").map((node) => names.map((name) => text(node, name)));
	const keys = [ids("MASTER KEY"), ids("NEXT MASTER KEY")];
	const times = [instants("STARTED"), instants("SEEN")];
	const titles = ["NAME", states("STATUS"), "VERSION", "ADDRESS", ...times, ...keys, ids("ID")];
	await showTable(context, answer, titles, lines, "no nodes");
}
