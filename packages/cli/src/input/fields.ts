import { readFile } from "node:fs/promises";
import type { Option } from "commander";
import { type Answer, isAnswer } from "../client/answer.ts";
import { type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { visible } from "../io/output.ts";
import { askHidden, readStdin } from "../io/prompt.ts";
import { decodeUtf8 } from "./value.ts";

/** The option that stores settings without trying them. */
export const FORCE = option("--force", "store it also when it does not work");

/** Query that has settings tried first. */
export function triedFirst({ force }: { readonly force?: boolean }): { readonly if?: "healthy" } {
	return force === true ? {} : { if: "healthy" };
}

/** Options of a command with fields whose names only the server knows. */
export interface FieldOptions {
	readonly from?: string;
	readonly secret?: readonly string[];
	/** Of the form `name=file`. */
	readonly setFile?: readonly string[];
}

/** A field and its new value. */
type Field<Value = unknown> = readonly [name: string, value: Value];

/** A paragraph of the help of commands that take settings, as `parseSetting` reads them. */
export const SETTING_HELP =
	"In --set field=value, true, false, null, numbers, and JSON in quotes, brackets or braces are taken literally, everything else is a text; '\"2\"' is the text 2.";

/** A paragraph of the help of commands whose fields are likely to be secrets. */
export const SECRET_HELP =
	"Do not put a secret on the command line, where others can see it: --secret asks for it on a terminal, without showing it, and else reads standard input. One --secret reads all of it without a line break at the end; several read one line each, in their order.";

/** The option for fields that are read from files. @param names of such fields */
export function fromFile(names: string): Option {
	return repeatable("--set-file <field=file>", `a field whose value is in a file, such as ${names}`);
}

/** Options that set fields, besides the command's own for plain ones. */
export const FIELD_OPTIONS: readonly Option[] = [
	repeatable("--secret <name>", "a field that svc asks for without showing it, or reads from standard input"),
	option("--from <file>", "a JSON object of fields, which the other options change (- for standard input)"),
];

/** An option that may be given several times. */
export function repeatable(flags: string, description: string): Option {
	return option(flags, description).argParser((value: string, before: string[] = []) => [...before, value]);
}

const JSON_VALUE = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?)$|^["[{]/;
const JSON_LIST_OR_OBJECT = /^[[{]/;

/** Parses a setting: true, false, null, a plain number, and valid JSON in quotes, brackets or braces stand for themselves; all else is text. */
export function parseSetting(text: string): unknown {
	return JSON_VALUE.test(text) ? parseOrText(text) : text;
}

/** Parses a param: engines take texts, so digits stay text; only valid JSON in brackets or braces stands for itself. */
export function parseParam(text: string): unknown {
	return JSON_LIST_OR_OBJECT.test(text) ? parseOrText(text) : text;
}

function parseOrText(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}

/**
 * The fields of --from, with the changes of `readChanges`.
 * @throws Failure usage as `readFrom` and `readChanges`
 */
export async function readFields(
	context: Context<FieldOptions>,
	assignments: readonly string[],
	parse: (text: string) => unknown,
): Promise<Answer> {
	return { ...(await readFrom(context)), ...(await readChanges(context, assignments, parse)) };
}

/** The object in the file of --from; empty without --from. @throws Failure usage when it is no object; the message repeats none of it */
export async function readFrom(context: Context<FieldOptions>): Promise<Answer> {
	const { from, secret = [] } = context.options;
	if (from === "-" && secret.length > 0 && context.io.stdin.isTTY !== true)
		throw new Failure("usage", "standard input cannot hold both the file and the secrets");
	return from === undefined ? {} : readObject(context, from);
}

/**
 * Reads the fields of the assignments, of each --set-file and of each --secret.
 * @param assignments of the form `name=value`
 * @param parse interprets the text after the sign
 * @throws Failure usage when a field is given twice, or does not fit its option; the message repeats none of it
 */
export async function readChanges(
	{ io, options }: Context<FieldOptions>,
	assignments: readonly string[],
	parse: (text: string) => unknown,
): Promise<Answer> {
	const { secret: secrets = [], setFile = [] } = options;
	const plain = assignments.map((assignment) => parseAssignment(assignment, parse));
	const files = setFile.map((assignment) => parseAssignment(assignment, (file) => file));
	const names = [...plain.map(([name]) => name), ...files.map(([name]) => name), ...secrets];
	if (secrets.some((name) => name.includes("=") || name === ""))
		throw new Failure("usage", "--secret takes a name only: the value is asked for");
	if (new Set(names).size < names.length) throw new Failure("usage", "a field is given twice");
	return Object.fromEntries([...plain, ...(await readFiles(files)), ...(await readSecrets(io, secrets))]);
}

function parseAssignment<Value>(assignment: string, parse: (text: string) => Value): Field<Value> {
	const at = assignment.indexOf("=");
	if (at < 1) throw new Failure("usage", "a field is given as name=value");
	return [assignment.slice(0, at), parse(assignment.slice(at + 1))];
}

async function readObject({ io }: Context, file: string): Promise<Answer> {
	const content = decodeUtf8(file === "-" ? await readStdin(io) : await readFile(file), "the file of --from");
	const value = parseOrText(content);
	if (!isAnswer(value)) throw new Failure("usage", "the file of --from is not a JSON object");
	return value;
}

function readFiles(files: readonly Field<string>[]): Promise<Field[]> {
	const read = async ([name, file]: Field<string>) =>
		[name, decodeUtf8(await readFile(file), "the file of --set-file")] as const;
	return Promise.all(files.map(read));
}

async function readSecrets(io: Io, names: readonly string[]): Promise<Field[]> {
	const values: string[] = [];
	if (io.stdin.isTTY === true) {
		for (const name of names) values.push(await askHidden(io, `${visible(name)} (hidden): `));
	} else if (names.length > 0) {
		const text = decodeUtf8(await readStdin(io), "standard input").replace(/\r?\n$/, "");
		values.push(...(names.length === 1 ? [text] : text.split(/\r?\n/)));
		if (values.length !== names.length)
			throw new Failure("usage", "standard input must hold one line for each --secret, in their order");
	}
	if (values.includes("")) throw new Failure("usage", "the value of a --secret is empty");
	return names.map((name, index) => [name, values[index]]);
}

/** Names and values for display; a value that is not text is shown as JSON. */
export function fieldsOf(answer: Answer): [string, string][] {
	return Object.entries(answer).map(([name, value]) => [
		visible(name),
		typeof value === "string" ? value : JSON.stringify(value),
	]);
}

/** Longer settings, such as a certificate or a provider's metadata, would fill the screen. */
const LONG_CHARACTERS = 400;
const SHOWN_CHARACTERS = 100;

/** Like `fieldsOf`, with long settings cut to their beginning and length. */
export function settingsOf(answer: Answer): [string, string][] {
	return fieldsOf(answer).map(([name, value]) => [name, value.length > LONG_CHARACTERS ? abridged(value) : value]);
}

function abridged(value: string): string {
	return `${value.slice(0, SHOWN_CHARACTERS).toWellFormed()}… (${value.length} characters; --json shows them)`;
}
