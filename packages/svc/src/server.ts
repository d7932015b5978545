import { flushCompileCache } from "node:module";
import { isSea } from "node:sea";
import type { Worker } from "node:worker_threads";
import { FatalError, type Running, readConfig, startServer } from "@svc/server";
import { BUILT_IN } from "./built-in-engines.ts";
import { type Notify, takeNotifier } from "./notify.ts";
import { refuseUnsafeEnvironment } from "./unsafe-environment.ts";

/**
 * Runs the server in this process until a signal: SIGTERM and SIGINT finish what is under way, SIGHUP reads the certificate
 * files again. As a service it tells systemd when it is ready.
 * @param writer the thread that writes the database, where it was started before this module was loaded
 */
export async function runServer(process: NodeJS.Process, writer?: Worker): Promise<void> {
	exitOnUncaughtError(process);
	ignoreSignals(process);
	try {
		refuseUnsafeEnvironment(process);
		const config = readConfig(process.env, process.cwd());
		const notify = takeNotifier(process.env, (message) => process.stderr.write(`svc: ${message}\n`));
		const running = await startServer(config, BUILT_IN, writer === undefined ? {} : { writer });
		handleSignals(process, running, notify);
		// Now, because after SIGKILL the next start would find nothing.
		flushCompileCache();
		process.stdout.write(greeting(running, config));
		await notify("READY=1", `STATUS=listening on ${running.url}`);
	} catch (error) {
		if (!(error instanceof FatalError)) throw error;
		process.stderr.write(`svc: ${error.message}\n`);
		process.exitCode = error.exitCode;
	}
}

type Config = Pick<ReturnType<typeof readConfig>, "base_url" | "data_dir">;

/** Information that a person needs to go on. */
function greeting(running: Running, { base_url, data_dir }: Config): string {
	const { url, tls, masterKey, setup_code_file, has_accounts, version } = running;
	const address = base_url ?? "not set: the console, links and single sign-on use the address above";
	const certificate = tls === undefined ? "none: plain HTTP" : `${tls.file}\n               SHA-256 ${tls.fingerprint}`;
	const key = masterKey.file ?? "from SVC_MASTER_KEY";
	const keep = masterKey.generated
		? "\n               newly created: keep a copy elsewhere; nothing else opens the data"
		: "";
	const first = setup_code_file === undefined ? "register" : "init";
	const next = has_accounts ? "login" : `${first} you@example.com`;
	const code = setup_code_file === undefined ? "" : `\n  it asks for the setup code, which is in ${setup_code_file}`;
	return `svc ${version} is listening on ${url}

  base_url     ${address}
  certificate  ${certificate}
  data         ${data_dir}
  master key   ${key} (fingerprint ${masterKey.fingerprint})${keep}

next, in another terminal:  ${isSea() ? "svc" : "npx svc"} ${next} --address ${url}${code}
`;
}

/** Ends rather than go on in an unknown state: what was answered is on disk, and a restart takes well under a second. Exit code EX_SOFTWARE. */
function exitOnUncaughtError(process: NodeJS.Process): void {
	const die = (error: unknown) => {
		const { name = typeof error, stack = "" } = error instanceof Error ? error : {};
		const frames = stack.split("\n").filter((line) => line.startsWith("    at "));
		process.stderr.write(`svc: stopped by an unexpected ${name}\n${frames.join("\n")}\n`);
		process.exit(70);
	};
	process.on("uncaughtException", die);
	process.on("unhandledRejection", die);
}

/** Each of these would end the process, or open a debugger through which anyone who can connect can run anything. */
function ignoreSignals(process: NodeJS.Process): void {
	for (const signal of ["SIGUSR1", "SIGUSR2", "SIGHUP"] as const) process.on(signal, () => undefined);
}

function handleSignals(process: NodeJS.Process, running: Running, notify: Notify): void {
	let isStopping = false;
	const stop = async () => {
		if (isStopping) process.exit(0);
		isStopping = true;
		await Promise.all([notify("STOPPING=1"), running.stop()]);
		process.exit(0);
	};
	process.on("SIGTERM", () => void stop());
	process.on("SIGINT", () => void stop());
	const reload = oneAtATime(async () => {
		await notify("RELOADING=1");
		await running.reload();
		await notify("READY=1");
	});
	process.on("SIGHUP", () => void reload());
}

/** Calls during the work make it run once more afterwards, however many they are. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
	let asked = 0;
	return async () => {
		if (asked++ > 0) return;
		for (let done = 0; done !== asked; ) {
			done = asked;
			await work();
		}
		asked = 0;
	};
}
