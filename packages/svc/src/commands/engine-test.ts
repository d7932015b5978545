import { statSync } from "node:fs";
import type { Context, LocalCommand } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { repeatable } from "@svc/cli/fields";
import { write } from "@svc/cli/io";
import { toJson } from "@svc/cli/output";
import type { Result } from "@svc/plugin-sdk/testing";

/** Options for trying an engine. */
export interface TestOptions {
	/** Each `SVC_NAME=VALUE`. */
	readonly env?: readonly string[];
}

/** The option of `TestOptions`. */
export const VARIABLES = repeatable("--env <SVC_NAME=VALUE>", "a variable that the engine's configuration would set");

/** `svc engine test`: tries an engine without a server. */
export const ENGINE_TEST: LocalCommand<TestOptions> = {
	group: "engine",
	usage: "test <folder>",
	summary: "test the engine in a folder against the contract; needs no server",
	details: `The folder holds plugin.json and the executable that it names, or plugin.json and main.ts. Each case is a line, ok or not ok. What the engine writes to standard error is shown.
The test calls generate and revokes what it creates: if the engine reaches a system, give it one for tests, or none.`,
	options: [VARIABLES],
	examples: ["svc engine test ./voucher", "svc engine test ./voucher --env SVC_VOUCHER_LIMIT=5"],
	run: testFolder,
};

async function testFolder({ io, options }: Context<TestOptions>, directory: string): Promise<void> {
	if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
		throw new Failure("usage", "there is no such folder");
	const env = readVariables(options.env ?? []);
	const { testEngine } = await import("@svc/plugin-sdk/testing");
	const print = async (text: string) => (options.json === true ? undefined : write(io.stdout, text));
	const results = await testEngine({
		directory,
		env,
		stderr: "inherit",
		onResult: (result) => void print(line(result)),
	});
	const failed = results.filter(({ passed }) => !passed).length;
	await print(`${results.length - failed} ok, ${failed} not ok\n`);
	if (options.json === true) await write(io.stdout, `${toJson({ results })}\n`);
	if (failed > 0) throw new Failure("failed", "the engine does not meet the contract of engines");
}

/** The line of a report about one case. */
export function line(result: Result): string {
	if (result.passed) return `ok - ${result.name}\n`;
	return `not ok - ${result.name}: ${result.problem}. To do: ${result.remedy}\n`;
}

const VARIABLE = /^(SVC_[A-Z0-9_]{1,60})=(.*)$/s;

/** Reads the values of `--env`. @throws Failure usage, which quotes nothing: a value may be a secret */
export function readVariables(texts: readonly string[]): Record<string, string> {
	const env: Record<string, string> = {};
	for (const text of texts) {
		const [, name, value] = VARIABLE.exec(text) ?? [];
		if (name === undefined || value === undefined)
			throw new Failure("usage", "--env takes SVC_NAME=VALUE: engines get no other variables");
		env[name] = value;
	}
	return env;
}
