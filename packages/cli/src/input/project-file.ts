import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse, TomlError } from "smol-toml";
import { didYouMean } from "../command-line/nearest.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { visible } from "../io/output.ts";

/** Contents of a `.svc.toml`: the realm and the environment for commands in its folder. */
export interface ProjectFile {
	readonly realm?: string;
	readonly env?: string;
}

const NAME = ".svc.toml";
/** Spec: API › Resources. It keeps a text that is no realm, such as a token, out of the address of a request. */
const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])$/;

/** Reasons for refusing some keys that you might expect. The file comes with a repository, so its author must not learn a token by it. */
const REFUSED: Readonly<Record<string, string>> = {
	token: "a token does not belong in it, because it is shared with the repository: `svc login`, or SVC_TOKEN",
	address: "an address in it could lead your token elsewhere: `svc login`, --address or SVC_ADDRESS names the server",
};

/**
 * Reads the nearest `.svc.toml`, from the working directory upwards; empty without one.
 * @throws Failure usage when it cannot be read or has keys other than realm and env; the message repeats none of its values
 */
export function readProjectFile(io: Io): ProjectFile {
	for (let folder = io.cwd(); ; folder = dirname(folder)) {
		const path = join(folder, NAME);
		const text = readIfThere(path);
		if (text !== undefined) return parseProjectFile(text, path);
		if (dirname(folder) === folder) return {};
	}
}

function readIfThere(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		const { code = "unknown" } = error as NodeJS.ErrnoException;
		if (code === "ENOENT" || code === "ENOTDIR") return undefined;
		throw unusable(path, `it cannot be read (${code})`, error);
	}
}

function parseProjectFile(text: string, path: string): ProjectFile {
	const found = parseToml(text, path);
	const unknown = Object.keys(found).find((key) => key !== "realm" && key !== "env");
	if (unknown !== undefined) {
		const reason = Object.hasOwn(REFUSED, unknown) ? REFUSED[unknown] : undefined;
		const question = didYouMean(unknown, ["realm", "env"]);
		const others = `it may set realm and env only, not ${visible(unknown)}`;
		throw unusable(path, reason ?? (question === undefined ? others : `${others}: ${question}`));
	}
	const { realm, env } = found;
	if (realm !== undefined && !(typeof realm === "string" && SLUG.test(realm)))
		throw unusable(path, 'realm is a slug in quotes, such as realm = "shop"');
	if (env !== undefined && typeof env !== "string")
		throw unusable(path, 'env is an environment in quotes, such as env = "dev"');
	return { ...(realm === undefined ? {} : { realm }), ...(env === undefined ? {} : { env }) };
}

function parseToml(text: string, path: string): Record<string, unknown> {
	try {
		return parse(text);
	} catch (error) {
		// Without the cause, which quotes the file.
		throw unusable(path, `${error instanceof TomlError ? `line ${error.line} ` : ""}is not TOML`);
	}
}

function unusable(path: string, problem: string, cause?: unknown): Failure {
	return new Failure("usage", `${path}: ${problem}`, {
		hint: "--realm and --env, or SVC_REALM and SVC_ENV, replace it",
		...(cause === undefined ? {} : { cause }),
	});
}
