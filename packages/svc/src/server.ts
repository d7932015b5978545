import { flushCompileCache } from "node:module";
import { FatalError, type Running, readConfig, startServer } from "@svc/server";
import { SHIPPED } from "./shipped-engines.ts";

/**
 * Runs the server in this process until it is told to end: SIGTERM and SIGINT finish what is under way, SIGHUP reads the certificate
 * files anew.
 */
export async function runServer(process: NodeJS.Process): Promise<void> {
	dieOnSurprise(process);
	try {
		const config = readConfig(process.env, process.cwd());
		const running = await startServer(config, SHIPPED);
		handleSignals(process, running);
		// Whoever ends it with SIGKILL would leave the next start nothing.
		flushCompileCache();
		process.stdout.write(greeting(running, config.data_dir));
	} catch (error) {
		if (!(error instanceof FatalError)) throw error;
		process.stderr.write(`svc: ${error.message}\n`);
		process.exitCode = error.exitCode;
	}
}

/** What a person needs to go on. */
function greeting({ url, tls, masterKey, version }: Running, data_dir: string): string {
	const certificate = tls === undefined ? "none: plain HTTP" : `${tls.file}\n               SHA-256 ${tls.fingerprint}`;
	const key = masterKey.file ?? "from SVC_MASTER_KEY";
	const keep = masterKey.generated
		? "\n               made just now: keep a copy elsewhere, nothing opens the data without it"
		: "";
	return `svc ${version} is listening on ${url}

  certificate  ${certificate}
  data         ${data_dir}
  master key   ${key} (fingerprint ${masterKey.fingerprint})${keep}

next, in another terminal:  npx svc register you@example.com --address ${url}
`;
}

/** Nothing goes on in an unknown state: what was answered is on disk, and a restart takes well under a second. Exit code EX_SOFTWARE. */
function dieOnSurprise(process: NodeJS.Process): void {
	const die = (error: unknown) => {
		const { name = typeof error, stack = "" } = error instanceof Error ? error : {};
		const frames = stack.split("\n").filter((line) => line.startsWith("    at "));
		process.stderr.write(`svc: stopped by an unexpected ${name}\n${frames.join("\n")}\n`);
		process.exit(70);
	};
	process.on("uncaughtException", die);
	process.on("unhandledRejection", die);
}

function handleSignals(process: NodeJS.Process, running: Running): void {
	let isStopping = false;
	const stop = async () => {
		if (isStopping) process.exit(0);
		isStopping = true;
		await running.stop();
		process.exit(0);
	};
	process.on("SIGTERM", () => void stop());
	process.on("SIGINT", () => void stop());
	process.on("SIGHUP", () => void running.reload());
	// Without a listener Node would open a debugger, through which whoever may connect runs what they like.
	process.on("SIGUSR1", () => undefined);
}
