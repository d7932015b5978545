import { statSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Result, testEngine } from "@svc/plugin-sdk/testing";

const USAGE = `usage: svc engine test <folder> [--env SVC_NAME=VALUE]...

Tries whether the engine in a folder keeps the contract of engines: plugin.json and the executable that it names, or plugin.json and
main.ts. Each case is a line, ok or not ok. What the engine writes to standard error is shown. generate is called, and what it makes
is revoked again: give an engine that reaches a system one to try with, or none.

  --env   a variable that the engine's configuration would give it

Exit codes: 0 all is well, 1 something is not, 2 usage.
`;

const VARIABLE = /^(SVC_[A-Z0-9_]{1,60})=(.*)$/s;

/**
 * Runs `svc engine test`: a line for each case on standard output.
 * @param args the words after `svc engine test`
 * @returns what the process should end with: 0 all is well, 1 something is not, 2 usage
 */
export async function runEngineTest(process: NodeJS.Process, args: readonly string[]): Promise<number> {
	const request = readArguments(args);
	if (request === "help") {
		process.stdout.write(USAGE);
		return 0;
	}
	if (typeof request === "string") {
		process.stderr.write(`svc: ${request}\n\n${USAGE}`);
		return 2;
	}
	const results = await testEngine({
		...request,
		stderr: "inherit",
		onResult: (result) => process.stdout.write(lineOf(result)),
	});
	const failed = results.filter(({ passed }) => !passed).length;
	process.stdout.write(`${results.length - failed} ok, ${failed} not ok\n`);
	return failed === 0 ? 0 : 1;
}

function lineOf(result: Result): string {
	if (result.passed) return `ok - ${result.name}\n`;
	return `not ok - ${result.name}: ${result.problem}. To do: ${result.remedy}\n`;
}

/** The folder and the variables, or what is wrong with the arguments, which may hold a secret and are not quoted. */
function readArguments(args: readonly string[]): { directory: string; env: Record<string, string> } | string {
	const given = parse(args);
	if (given === undefined) return "svc engine test takes a folder and --env SVC_NAME=VALUE";
	if (given.values.help === true) return "help";
	const [directory, ...more] = given.positionals;
	if (directory === undefined || more.length > 0) return "svc engine test takes one folder";
	if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return "there is no such folder";
	const env: Record<string, string> = {};
	for (const variable of given.values.env ?? []) {
		const [, name, value] = VARIABLE.exec(variable) ?? [];
		if (name === undefined || value === undefined) return "--env takes SVC_NAME=VALUE: engines get no other variables";
		env[name] = value;
	}
	return { directory, env };
}

function parse(args: readonly string[]) {
	const options = { env: { type: "string", multiple: true }, help: { type: "boolean", short: "h" } } as const;
	try {
		return parseArgs({ args: [...args], options, allowPositionals: true });
	} catch {
		return undefined;
	}
}
