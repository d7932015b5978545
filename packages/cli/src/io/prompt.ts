import { StringDecoder } from "node:string_decoder";
import { Failure } from "../failure.ts";
import { type Io, isInteractive, write } from "./io.ts";

/** Most bytes read from stdin or a file as one text: the server accepts less. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;

/** Asks on the terminal and returns the typed line, trimmed. */
export async function ask(io: Io, question: string): Promise<string> {
	requireTerminal(io);
	await write(io.stderr, question);
	return (await readLine(io)).line.trim();
}

/** Asks a question; only `y` or `yes` makes it true. */
export async function confirm(io: Io, question: string): Promise<boolean> {
	return /^y(es)?$/i.test(await ask(io, `${question} [y/N] `));
}

/**
 * Asks before an irreversible action, unless --yes was given.
 * @param words as in "deleting a realm needs --yes" and "nothing was deleted"
 * @throws Failure usage where nobody can be asked, failed when the answer is no
 */
export async function confirmUnless(
	{ io, options }: { readonly io: Io; readonly options: { readonly yes?: boolean } },
	question: string,
	words: { doing: string; done: string },
): Promise<void> {
	if (options.yes === true) return;
	if (!isInteractive(io)) throw new Failure("usage", `${words.doing} needs --yes where svc cannot ask`);
	if (!(await confirm(io, question))) throw new Failure("failed", `nothing was ${words.done}`);
}

/**
 * Asks on the terminal and returns the typed line without showing it.
 * @throws Failure usage when more than one line was pasted: the rest would be lost silently
 */
export async function askHidden(io: Io, question: string): Promise<string> {
	requireTerminal(io);
	// Before the question: an answer that is typed quickly, or pasted, must not appear.
	io.stdin.setRawMode?.(true);
	try {
		await write(io.stderr, question);
		const { line, more } = await readLine(io);
		if (more)
			throw new Failure("usage", "more than one line was entered", {
				hint: "give it on standard input or from a file",
			});
		return line;
	} finally {
		io.stdin.setRawMode?.(false);
		await write(io.stderr, "\n");
	}
}

/** Reads all of stdin. @throws Failure when it is over 16 MiB */
export async function readStdin(io: Io): Promise<Buffer> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of io.stdin) {
		const part = Buffer.from(chunk);
		bytes += part.length;
		if (bytes > MAX_INPUT_BYTES) throw new Failure("failed", "standard input is over 16 MiB");
		chunks.push(part);
	}
	return Buffer.concat(chunks);
}

function requireTerminal(io: Io): void {
	if (!isInteractive(io)) throw new Failure("usage", "svc cannot ask without a terminal");
}

const ENTER = /[\r\n]/;
const ESCAPE = "\u001b";
const INTERRUPT = "\u0003";
const END_OF_INPUT = "\u0004";
const CLEAR_LINE = "\u0015";
const ERASE = new Set(["\b", "\u007f"]);

/** Reads up to the end of a line; in raw mode it does the basic editing that the terminal does otherwise. */
function readLine({ stdin }: Io): Promise<{ line: string; more: boolean }> {
	const { promise, resolve, reject } = Promise.withResolvers<{ line: string; more: boolean }>();
	const decoder = new StringDecoder("utf8");
	let line: string[] = [];
	const interrupted = () => reject(new Failure("interrupted", "interrupted"));
	const onData = (chunk: Buffer | string) => {
		const text = typeof chunk === "string" ? chunk : decoder.write(chunk);
		// A function key arrives as one chunk of its own.
		if (text.startsWith(ESCAPE)) return;
		let used = 0;
		for (const character of text) {
			used += character.length;
			if (ENTER.test(character)) return resolve({ line: line.join(""), more: !/^\n?$/.test(text.slice(used)) });
			if (character === INTERRUPT || character === END_OF_INPUT) return interrupted();
			if (character === CLEAR_LINE) line = [];
			else if (ERASE.has(character)) line.pop();
			else line.push(character);
		}
	};
	stdin.on("data", onData).once("end", interrupted);
	stdin.resume();
	return promise.finally(() => {
		stdin.off("data", onData).off("end", interrupted);
		stdin.pause();
	});
}
