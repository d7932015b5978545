import { toJson } from "../io/output.ts";
import { shellLine } from "../io/shell-line.ts";

/** A secret to export. */
export interface Entry {
	readonly key: string;
	readonly value: string;
}

/** Name and namespace of a Secret of Kubernetes. */
export interface SecretName {
	readonly name: string;
	/** Absent for kubectl's default. */
	readonly namespace?: string;
}

/** A format for secrets. Its readers get back exactly the same values. */
interface Format {
	/** True when its readers set variables of a process without checking their names. */
	readonly setsVariables?: true;
	/** Reason why an entry cannot be written, as the end of "KEY …"; undefined when it can. */
	problem(entry: Entry): string | undefined;
	/** Reason why all of them together cannot be written. */
	problemOfAll?(entries: readonly Entry[]): string | undefined;
	/** @param entries without a problem */
	write(entries: readonly Entry[], secret: SecretName): string;
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NO_VARIABLE = "is no variable's name";
const NO_ZERO = "holds U+0000, which no variable can";

// Every reader of .env files takes these unquoted.
const PLAIN = /^[A-Za-z0-9_.,:/@%+=-]+$/;

/** Read by `svc import`. Readers disagree about backslashes, so there are none where the value does not need them. */
const dotenv: Format = {
	problem: ({ value }) => (value.includes("\0") ? NO_ZERO : undefined),
	write: (entries) => entries.map(({ key, value }) => `${key}=${dotenvValue(value)}\n`).join(""),
};

function dotenvValue(value: string): string {
	if (PLAIN.test(value)) return value;
	if (!/['\r]/.test(value)) return `'${value}'`;
	if (!/["\\\r]/.test(value)) return `"${value}"`;
	return `"${value.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}"`;
}

/** POSIX. */
const shell: Format = {
	setsVariables: true,
	problem: ({ key, value }) => (VARIABLE.test(key) ? dotenv.problem({ key, value }) : NO_VARIABLE),
	write: (entries) => entries.map(({ key, value }) => shellLine(key, value)).join(""),
};

const json: Format = {
	problem: () => undefined,
	write: (entries) => `${toJson(Object.fromEntries(entries.map(({ key, value }) => [key, value])))}\n`,
};

// Quotes every text: the meaning of unquoted `yes`, `1:20` or `0o7` depends on the version of YAML. YAML's escapes include those of JSON.
const NOT_PRINTABLE_IN_YAML = /[\ufeff\ufffe\uffff]/g;

const yaml: Format = {
	problem: () => undefined,
	write: (entries) =>
		entries.length === 0 ? "{}\n" : entries.map(({ key, value }) => `${yamlText(key)}: ${yamlText(value)}\n`).join(""),
};

function yamlText(text: string): string {
	return toJson(text).replace(NOT_PRINTABLE_IN_YAML, (character) => `\\u${character.charCodeAt(0).toString(16)}`);
}

/** Most bytes of a Secret's values. https://kubernetes.io/docs/concepts/configuration/secret/#restriction-data-size */
const MAX_SECRET_BYTES = 1024 * 1024;

const k8s: Format = {
	// https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data
	problem: ({ key }) =>
		/^(?!\.\.)[A-Za-z0-9._-]{1,253}$/.test(key) ? undefined : "is no key of a Secret, which has letters, digits, - _ .",
	problemOfAll: (entries) =>
		entries.reduce((bytes, { value }) => bytes + Buffer.byteLength(value), 0) > MAX_SECRET_BYTES
			? "together they are over 1 MiB, which is the most that a Secret holds"
			: undefined,
	write: (entries, { name, namespace }) => {
		const data = entries.map(({ key, value }) => `  ${yamlText(key)}: "${Buffer.from(value).toString("base64")}"\n`);
		return `apiVersion: v1\nkind: Secret\nmetadata:\n  name: "${name}"\n${
			namespace === undefined ? "" : `  namespace: "${namespace}"\n`
		}type: Opaque\ndata:${data.length === 0 ? " {}\n" : `\n${data.join("")}`}`;
	},
};

// systemd ignores a whole file with a noncharacter in it (src/basic/utf8.c), and before version 248 a variable with a control character.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NOT_IN_SYSTEMD = /[\0-\x08\x0b-\x1f\x7f]|\p{Noncharacter_Code_Point}/u;

/** An EnvironmentFile. man systemd.exec: in double quotes a backslash keeps a following " \ ` $ unchanged. */
const systemd: Format = {
	setsVariables: true,
	problem: ({ key, value }) => {
		if (!VARIABLE.test(key)) return NO_VARIABLE;
		return NOT_IN_SYSTEMD.test(value) ? "holds a character that systemd refuses" : undefined;
	},
	write: (entries) => entries.map(({ key, value }) => `${key}="${value.replace(/["\\`$]/g, "\\$&")}"\n`).join(""),
};

/** Most bytes of a line that docker reads (bufio.MaxScanTokenSize of Go). */
const MAX_DOCKER_LINE_BYTES = 64 * 1024;

/** A file for `docker run --env-file`: no quoting, a value is the rest of its line. */
const docker: Format = {
	setsVariables: true,
	problem: ({ key, value }) => {
		if (/[\n\r]/.test(value)) return "holds a line break";
		if (value.includes("\0")) return NO_ZERO;
		return Buffer.byteLength(`${key}=${value}\n`) > MAX_DOCKER_LINE_BYTES ? "is longer than a line may be" : undefined;
	},
	write: (entries) => entries.map(({ key, value }) => `${key}=${value}\n`).join(""),
};

/** The formats of `svc export`, by name. */
export const EXPORT_FORMATS: Readonly<Record<string, Format>> = { dotenv, shell, json, yaml, k8s, systemd, docker };

/** Problems that keep the secrets from being written in a format: the end of a sentence for each, without values. */
export function problemsOf(format: Format, entries: readonly Entry[]): string[] {
	const each = entries.flatMap((entry) => {
		const problem = format.problem(entry);
		return problem === undefined ? [] : [`${entry.key} ${problem}`];
	});
	const all = format.problemOfAll?.(entries);
	return all === undefined ? each : [...each, all];
}
