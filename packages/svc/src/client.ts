import { runCli } from "@svc/cli";
import { LOCAL_COMMANDS } from "./local-commands.ts";

/** Runs the command line client, or a command for this machine. */
export async function runClient(process: NodeJS.Process): Promise<void> {
	process.exitCode = await runCli(process.argv.slice(2), process, LOCAL_COMMANDS);
}
