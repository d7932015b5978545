import { basename } from "node:path";
import { Failure } from "../../failure.ts";
import { AS_BASE64 } from "../../input/value.ts";
import { decodeDotenv, readDotenv } from "../dotenv.ts";
import { readCsv } from "./csv.ts";
import { DotenvError } from "./cursor.ts";
import { DIALECTS, dialectsOf, differencesOf } from "./dialects/dialects.ts";
import { readDoppler, withoutNames } from "./doppler.ts";
import { addProblem, type Draft, type ImportResult, startResult } from "./import-result.ts";
import { readInfisical, readInfisicalDotenv } from "./infisical.ts";
import { readMapping } from "./mapping.ts";
import { readTree, type Tree } from "./tree.ts";
import { readVault } from "./vault.ts";

/** Shapes of files. */
export const FILE_FORMATS: readonly string[] = ["dotenv", "json", "yaml", "csv", "k8s"];

/** A tool that exports secrets. */
interface Tool {
	/** Reads its JSON and YAML. */
	readTree(draft: Draft, tree: Tree): void;
	/** Reads its .env files, where they are not like others. */
	readDotenv?(draft: Draft, text: string): void;
	/** Leaves out what the tool adds to the secrets. */
	clean?(result: ImportResult): ImportResult;
}

const TOOLS: Readonly<Record<string, Tool>> = {
	vault: { readTree: readVault },
	infisical: { readTree: readInfisical, readDotenv: readInfisicalDotenv },
	doppler: { readTree: readDoppler, clean: withoutNames },
};

/** Values of `--from`. */
export const SOURCES: readonly string[] = [...Object.keys(TOOLS), ...FILE_FORMATS];

/** Options about what a file is. */
export interface FileOptions {
	readonly from?: string;
	readonly format?: string;
	readonly dialect?: string;
}

/**
 * Reads every secret in a file.
 * @param file its name, or `-`
 * @throws Failure usage when the options contradict each other, failed for a file that is not text or is a program
 */
export async function readSecretsFile(file: string, content: Buffer, options: FileOptions): Promise<ImportResult> {
	if (basename(file) === ".envrc")
		throw new Failure("usage", "an .envrc is a program, which svc does not run", {
			hint: "`direnv export json | svc import - --from json` takes what it sets",
		});
	const text = decode(content);
	if (text.trim() === "")
		throw new Failure("failed", "there is nothing to import: the file is empty", {
			...(file === "-" && { hint: "did the command before the pipe fail?" }),
		});
	const tool = options.from === undefined ? undefined : TOOLS[options.from];
	const draft = startResult();
	const format = formatOf(file, text, options, tool);
	if (options.dialect !== undefined && (format !== "dotenv" || tool !== undefined))
		throw new Failure("usage", "--dialect is for .env files that no other tool exported");
	if (format === "csv") readCsv(draft, text);
	else if (format !== "dotenv") {
		const tree = await readTree(text, draft);
		if (tree !== undefined) (tool?.readTree ?? readMapping)(draft, tree);
	} else if (tool === undefined) readDialect(draft, text, options.dialect);
	else (tool.readDotenv ?? readDotenv)(draft, text);
	if (tool === undefined) noteTool(draft);
	return tool?.clean?.(draft) ?? draft;
}

function decode(content: Buffer): string {
	try {
		return decodeDotenv(content).replace(/^\ufeff/, "");
	} catch (error) {
		if (!(error instanceof DotenvError)) throw error;
		throw new Failure("failed", error.message, {
			hint: AS_BASE64,
		});
	}
}

/** Says so when a file that is named as no tool's has what only Doppler adds. */
function noteTool(draft: Draft): void {
	const count = withoutNames(draft).skipped.length - draft.skipped.length;
	if (count > 1) draft.remarks.push(`the file looks like Doppler's: --from doppler leaves out its ${count} own names`);
}

/** Most lines that are listed in a remark. */
const MAX_LINES = 10;

/** Without a dialect, it says what the programs would read whose dialect it may be, or that the file is of another format. */
function readDialect(draft: Draft, text: string, dialect: string | undefined): void {
	const read = dialect === undefined ? readDotenv : (DIALECTS[dialect] ?? readDotenv);
	read(draft, text);
	const looks = draft.entries.length > 0 ? "dotenv" : guess(text);
	if (looks !== "dotenv") {
		draft.problems.length = 0;
		addProblem(draft, 1, `this looks like ${looks.toUpperCase()}, not like a .env file: --from ${looks} reads it`);
	} else if (dialect === undefined)
		draft.remarks.push(...(draft.problems.length > 0 ? remedies(text) : warnings(text)));
}

function remedies(text: string): string[] {
	const fitting = dialectsOf(text);
	return fitting.length === 0 ? [] : [`--dialect ${fitting.join(" or ")} reads the file without a mistake`];
}

function warnings(text: string): string[] {
	return differencesOf(text).map(({ dialect, lines }) => {
		const listed = `${lines.slice(0, MAX_LINES).join(", ")}${lines.length > MAX_LINES ? ", …" : ""}`;
		const count = lines.length === 1 ? "1 line is" : `${lines.length} lines are`;
		return `${count} read differently by ${dialect}: ${listed} (--dialect ${dialect} reads the file as it does)`;
	});
}

function formatOf(file: string, text: string, { from, format }: FileOptions, tool: Tool | undefined): string {
	const given = tool === undefined ? (from ?? format) : format;
	if (tool === undefined && format !== undefined && given !== format)
		throw new Failure("usage", `--from ${from} and --format ${format} contradict each other`);
	if (given !== undefined) return given;
	const [, ending] = /\.(json|ya?ml|csv)$/i.exec(file) ?? [];
	if (ending !== undefined) return ending.toLowerCase();
	return tool === undefined ? "dotenv" : guess(text);
}

/** Guesses the shape of what a tool printed; any YAML of such a tool is one of maps. */
function guess(text: string): string {
	if (/^\s*[[{]/.test(text)) return "json";
	if (/^key,value\s/i.test(text)) return "csv";
	return /^[^\s=]+:(?:\s|$)/m.test(text) && !/^(?:export )?[A-Za-z0-9_]+=/.test(text) ? "yaml" : "dotenv";
}
