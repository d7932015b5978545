import { spawnSync } from "node:child_process";

/** `npm run check`: types, lint, dead code, structure, tests. With `--static` everything except the black-box and unit tests. */
const steps: [name: string, command: string, ...args: string[]][] = [
	["types", "tsc", "-p", "tsconfig.base.json"],
	["lint and format", "biome", "check", "--error-on-warnings", "."],
	["dead code", "knip"],
	["structure", "node", "--test", "test/structure.test.ts", "test/circles.test.ts"],
];
if (!process.argv.includes("--static")) steps.push(["tests", "npm", "test"]);

for (const [name, command, ...args] of steps) {
	process.stdout.write(`\n— ${name}\n`);
	const { status } = spawnSync(command, args, { stdio: "inherit" });
	if (status !== 0) {
		process.stderr.write(`${name}: not passed\n`);
		process.exit(1);
	}
}
