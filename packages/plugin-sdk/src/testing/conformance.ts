import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engineCapabilities, parseDescriptor } from "@svc/protocol";
import type { Case } from "./case.ts";
import { converse } from "./conversation.ts";
import { DESCRIBE, METHOD_CASES } from "./describing.ts";
import type { User } from "./engine-process.ts";
import { Finding } from "./finding.ts";
import { openFolder, type Startable } from "./folder.ts";
import { FRAMING_CASES } from "./framing.ts";
import { LEASE_CASES } from "./leases.ts";

/** The engine to test, and how to test it. */
export type TestOptions = (
	| {
			/** Folder with plugin.json and the executable that it names, or with plugin.json and main.ts. */
			directory: string;
	  }
	| {
			/** Program and arguments. */
			command: readonly string[];
			/** The content of plugin.json. */
			descriptor: unknown;
	  }
) & {
	/** Variables of the engine's configuration, in addition to the few that every engine has. */
	env?: Readonly<Record<string, string>>;
	/** Milliseconds for a response; by default the server's: 5,000, and 35,000 for engines that make credentials. */
	timeout_ms?: number;
	/** The user that the engine runs as, if this process may choose: root runs nobody's program with its own rights. */
	user?: User;
	/** The engine's standard error: to this process's own, or nowhere, which is the default. */
	stderr?: "inherit" | "ignore";
	/** Names of the cases to try besides describe; all by default. */
	only?: readonly string[];
	/** Receives each result immediately. */
	onResult?(result: Result): void;
};

/** The result of one case. */
export type Result =
	| { name: string; passed: true }
	| {
			name: string;
			passed: false;
			/** The fault, without anything that the engine wrote. */
			problem: string;
			/** Advice for the author. */
			remedy: string;
	  };

const FOLDER = "plugin.json and the executable are what the contract asks for";

/** The environment in which the server starts engines. Design: §8 */
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC" } as const;

/** For an engine that works by itself, and for one that may have to reach a system. Design: §8 */
const TIMEOUT_MS = 5000;
const NETWORK_TIMEOUT_MS = 35_000;

/**
 * Tests whether an engine keeps the contract, case by case, each with a new process. It calls generate and revokes the result: give an
 * engine that reaches a system one for tests, or none.
 * @returns a result for each case that was tried; only the first failure when plugin.json cannot be read or describe does not work
 * @throws DescriptorError when the descriptor in the options is invalid
 */
export async function testEngine(options: TestOptions): Promise<Result[]> {
	const scratch = mkdtempSync(join(tmpdir(), "svc-engine-test-"));
	const results: Result[] = [];
	const attempt = async (name: string, run: () => void | Promise<void>) => {
		const result = await resultOf(name, run);
		results.push(result);
		options.onResult?.(result);
		return result.passed;
	};
	try {
		let engine: Startable | undefined;
		if ("directory" in options) {
			await attempt(FOLDER, () => {
				engine = openFolder(options.directory, scratch, options.user);
			});
		} else {
			engine = { descriptor: parseDescriptor(options.descriptor), command: options.command, cwd: undefined };
		}
		if (engine === undefined) return results;
		const ready = engine;
		if (!(await attempt(DESCRIBE.name, () => runCase(DESCRIBE, ready, options)))) return results;
		for (const each of [...METHOD_CASES, ...LEASE_CASES, ...FRAMING_CASES]) {
			if (options.only?.includes(each.name) === false) continue;
			await attempt(each.name, () => runCase(each, ready, options));
		}
		return results;
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

async function resultOf(name: string, run: () => void | Promise<void>): Promise<Result> {
	try {
		await run();
		return { name, passed: true };
	} catch (error) {
		if (!(error instanceof Finding)) throw error;
		return { name, passed: false, problem: error.message, remedy: error.remedy };
	}
}

async function runCase({ run }: Case, { descriptor, command, cwd }: Startable, options: TestOptions): Promise<void> {
	const isNetworked = engineCapabilities(descriptor).includes("dynamic_credentials");
	const timeout_ms = options.timeout_ms ?? (isNetworked && run !== DESCRIBE.run ? NETWORK_TIMEOUT_MS : TIMEOUT_MS);
	const env = { ...options.env, ...ENVIRONMENT };
	const engine = converse({ command, env, cwd, user: options.user, stderr: options.stderr ?? "ignore" }, timeout_ms);
	try {
		await run(engine, descriptor);
	} finally {
		engine.kill();
	}
}
