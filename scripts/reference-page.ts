import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Leaf, leavesOf } from "../packages/cli/src/command-line/command-tree.ts";
import { EXIT_MEANINGS, FILES, VARIABLES } from "../packages/cli/src/command-line/epilogue.ts";
import { EXIT } from "../packages/cli/src/failure.ts";
import { buildProgram, type Io, runCli } from "../packages/cli/src/main.ts";
import { STATUS } from "../packages/server/src/errors.ts";
import { LOCAL_COMMANDS } from "../packages/svc/src/local-commands.ts";
import { api } from "../test/harness/client.ts";
import { openApi, type Route, routesOf } from "../test/harness/openapi.ts";
import { startServer } from "../test/harness.ts";
import { type Auth, ENDPOINTS, routeName } from "../test/spec/endpoints.ts";

/** Path of the page. */
export const REFERENCE = fileURLToPath(new URL("../docs/reference.md", import.meta.url));

const INTRODUCTION = `# Reference

Made by \`npm run reference\` from the commands' help and from the server's OpenAPI document; a test compares. The server shows the latter
as a page in which every endpoint can be tried, at \`/docs\`. Its settings are in [Settings](settings.md).`;

/** Columns at which help texts are wrapped. */
const COLUMNS = 120;

const WHO: Readonly<Record<Auth, string>> = {
	none: "everybody",
	token: "any token",
	admin: "an admin of the realm",
	instance: "the instance admin",
};

/** The page as Markdown. Starts a server for a moment and asks it for its document. */
export async function referencePage(): Promise<string> {
	const leaves = leavesOf(buildProgram(memoryIo([]), LOCAL_COMMANDS, () => undefined));
	const chapters = [
		INTRODUCTION,
		`## Commands\n\n${table(["command", "what it does"], leaves.map(commandRow))}`,
		`### Exit codes\n\n${table(["code", "meaning"], exitCodes())}`,
		`### Environment variables of the commands\n\n${table(["variable", "meaning"], codeRows(VARIABLES))}`,
		`### Files of the commands\n\n${table(["file", "meaning"], codeRows(FILES))}`,
		...(await Promise.all(leaves.map(commandChapter))),
		await endpointsChapter(),
	];
	return `${chapters.join("\n\n")}\n`;
}

function commandRow({ words, command }: Leaf): string[] {
	const name = `svc ${words.join(" ")}`;
	return [`[\`${name}\`](#${name.replaceAll(" ", "-")})`, command.summary()];
}

async function commandChapter({ words }: Leaf): Promise<string> {
	const written: string[] = [];
	await runCli([...words, "--help"], memoryIo(written), LOCAL_COMMANDS);
	return `### svc ${words.join(" ")}\n\n\`\`\`text\n${written.join("").trimEnd()}\n\`\`\``;
}

function exitCodes(): string[][] {
	return Object.entries(EXIT_MEANINGS).map(([name, meaning]) => [`${EXIT[name as keyof typeof EXIT]}`, meaning]);
}

const codeRows = (rows: Readonly<Record<string, string>>): string[][] =>
	Object.entries(rows).map(([name, meaning]) => [`\`${name}\``, meaning]);

async function endpointsChapter(): Promise<string> {
	const server = await startServer();
	try {
		const routes = routesOf(await openApi(api(server)));
		const everywhere = common(routes);
		const withToken = common(routes.filter((route) => whoMay(route) !== "none"));
		const row = (route: Route): string[] => {
			const usual = whoMay(route) === "none" ? everywhere : withToken;
			const own = codesOf(route).filter((code) => !usual.includes(code));
			const { summary = "" } = route.operation;
			return [`\`${route.method} ${route.path}\``, summary, WHO[whoMay(route)], list(own)];
		};
		return [
			"## Endpoints",
			`The column _who may_ is a first gate: a token's limits and a role narrow it further. Every endpoint may also answer ${list(everywhere)}; what needs a token, ${list(withToken.filter((code) => !everywhere.includes(code)))}.`,
			table(["endpoint", "what it does", "who may", "errors of its own"], routes.map(row)),
			"### Error codes",
			'Errors are `{"error":{"code":"…","message":"…","status":…}}`. The list of codes is closed.',
			table(["status", "codes"], codesByStatus()),
		].join("\n\n");
	} finally {
		await server.close();
	}
}

function whoMay(route: Route): Auth {
	return ENDPOINTS.find((one) => routeName(one) === routeName(route))?.auth ?? "token";
}

/** The codes of an operation, as the descriptions of its answers list them. */
function codesOf(route: Route): string[] {
	return refusalsOf(route).flatMap(([, codes]) => codes);
}

function refusalsOf({ operation }: Route): [status: string, codes: string[]][] {
	const refusals = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
	return refusals.map(([status, { description = "" }]) => [status, description.split(", ")]);
}

/** The codes that all of the routes share. */
function common(routes: readonly Route[]): string[] {
	const [first, ...others] = routes.map((route) => new Set(codesOf(route)));
	return [...(first ?? [])].filter((code) => others.every((codes) => codes.has(code)));
}

/** All codes, also those that no route has for its own, such as that of a method that a path does not take. */
function codesByStatus(): string[][] {
	const byStatus = Map.groupBy(Object.entries(STATUS), ([, status]) => status);
	return [...byStatus].map(([status, group]) => [`${status}`, list(group.map(([code]) => code))]);
}

const list = (codes: readonly string[]): string => codes.map((code) => `\`${code}\``).join(", ");

/** A table as the formatter writes it. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
	const lines = [heads, ...rows].map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")));
	const widths = heads.map((_, column) => Math.max(3, ...lines.map((cells) => cells[column]?.length ?? 0)));
	const join = (cells: readonly string[]) =>
		`| ${widths.map((width, at) => (cells[at] ?? "").padEnd(width)).join(" | ")} |`;
	const rule = join(widths.map((width) => "-".repeat(width)));
	return [join(lines[0] ?? []), rule, ...lines.slice(1).map(join)].join("\n");
}

/** Streams that keep what is written to standard output. */
function memoryIo(written: string[]): Io {
	const sink = (keep: string[]) =>
		Object.assign(
			new Writable({
				write(chunk: Buffer, _encoding, done) {
					keep.push(chunk.toString());
					done();
				},
			}),
			{ columns: COLUMNS },
		);
	const unheard = { on: () => undefined, off: () => undefined };
	return { stdin: process.stdin, stdout: sink(written), stderr: sink([]), env: {}, cwd: () => "/", ...unheard };
}
