import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { isInteractive } from "../io/io.ts";
import { note } from "../io/output.ts";
import { askHidden, readStdin } from "../io/prompt.ts";

/** Options of a command that takes a value. */
export interface ValueOptions {
	readonly fromFile?: string;
	readonly trim?: boolean;
}

/** Options for the source of a value. */
export const VALUE_OPTIONS = [
	option("--from-file <file>", "read the value from a file, byte for byte"),
	option("--trim", "drop one line break at the end of the value"),
];

/** A paragraph of the help of every command that takes a value. */
export const VALUE_HELP =
	"Without a value, svc asks for it on a terminal, without showing it, and else reads standard input byte for byte, including a line break at the end (see --trim). A value on the command line appears in the shell's history and in the process list.";

/**
 * The value of a secret: the one given, else from --from-file, else asked for on a terminal, else from stdin.
 * @throws Failure usage when it is empty or not UTF-8
 */
export async function readValue(context: Context<ValueOptions>, given: string | undefined): Promise<string> {
	const { options } = context;
	if (given !== undefined && options.fromFile !== undefined)
		throw new Failure("usage", "give either a value or --from-file");
	const raw = given ?? (await readSource(context));
	const value = options.trim === true ? raw.replace(/\r?\n$/, "") : raw;
	if (value === "") throw new Failure("usage", "the value is empty, and the server stores no empty values");
	if (given === undefined && value.endsWith("\n") && isTerminal(context)) {
		await note(context, "note: the value ends with a line break; --trim would drop it");
	}
	return value;
}

/** Advice for a file that is not text, such as a keystore. */
export const AS_BASE64 = "`base64 --wrap=0 FILE | svc secret set KEY` stores a file that is not text as its Base64";

async function readSource(context: Context<ValueOptions>): Promise<string> {
	const { io, options } = context;
	if (options.fromFile !== undefined) return decodeUtf8(await readFile(options.fromFile), "the file", AS_BASE64);
	if (io.stdin.isTTY !== true) return decodeUtf8(await readStdin(io), "standard input", AS_BASE64);
	if (!isInteractive(io))
		throw new Failure("usage", "svc cannot ask without a terminal", { hint: "give the value on standard input" });
	return askHidden(io, "Value (hidden): ");
}

function isTerminal({ io }: Context): boolean {
	return io.stderr.isTTY === true;
}

/** The bytes as text. @throws Failure usage when they are not UTF-8 */
export function decodeUtf8(bytes: Buffer, source: string, hint?: string): string {
	if (!isUtf8(bytes)) throw new Failure("usage", `${source} is not UTF-8 text`, { hint });
	return bytes.toString("utf8");
}
