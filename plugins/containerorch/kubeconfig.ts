import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Fields, isObject } from "@svc/plugin-sdk";
import { parse } from "yaml";
import { ConfigError, errorCode, type Identity, type Source } from "./source.ts";

/** Unsupported fields that would change the server, or the user, of a request. */
const UNSUPPORTED = ["exec", "auth-provider", "as", "proxy-url"];

/**
 * Reads a client configuration file: cluster and user of its current context. Files named in it are relative to it.
 * @throws ConfigError when it cannot be read, contradicts itself, or needs a program to get a token
 */
export function readKubeconfig(path: string): Source {
	const document = parseDocument(readText(path));
	const current = textOf(document, "current-context");
	if (current === undefined) throw new ConfigError("kubeconfig: current-context is missing");
	const context = entryOf(document, "context", current);
	const cluster = entryOf(document, "cluster", textOf(context, "cluster"));
	const user = entryOf(document, "user", textOf(context, "user"));
	const unsupported = UNSUPPORTED.find((name) => cluster[name] !== undefined || user[name] !== undefined);
	if (unsupported !== undefined) {
		throw new ConfigError(
			`kubeconfig: ${unsupported} is not supported: use a user with a token, a tokenFile or a client certificate`,
		);
	}
	const folder = dirname(path);
	const ca = materialOf(cluster, "certificate-authority", folder);
	return {
		server: textOf(cluster, "server"),
		trust: cluster["insecure-skip-tls-verify"] === true ? "unverified" : ca === undefined ? undefined : { ca },
		servername: textOf(cluster, "tls-server-name"),
		identity: identityOf(user, folder),
		namespace: textOf(context, "namespace"),
	};
}

/** Reads the identity. A certificate comes first, as with an API server that receives both; a token file precedes a token, as it is newer. */
function identityOf(user: Fields, folder: string): Identity | undefined {
	const certificate = materialOf(user, "client-certificate", folder);
	const key = materialOf(user, "client-key", folder);
	if (certificate !== undefined && key !== undefined) return { certificate, key };
	const tokenFile = textOf(user, "tokenFile");
	if (tokenFile !== undefined) return { tokenFile: resolve(folder, tokenFile) };
	const token = textOf(user, "token");
	return token === undefined ? undefined : { token };
}

function readText(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		throw new ConfigError(`kubeconfig: a file cannot be read (${errorCode(error)})`);
	}
}

function parseDocument(text: string): Fields {
	let document: unknown;
	try {
		document = parse(text, { prettyErrors: false, logLevel: "error" });
	} catch {
		// The parser's own message would quote the file.
		throw new ConfigError("kubeconfig: the file is not valid YAML");
	}
	if (!isObject(document)) throw new ConfigError("kubeconfig: the file must be a mapping");
	return document;
}

/** Finds a cluster, context or user by name; empty without a name. */
function entryOf(document: Fields, kind: "cluster" | "context" | "user", name: string | undefined): Fields {
	if (name === undefined) return {};
	const list = document[`${kind}s`];
	const named: unknown = Array.isArray(list) ? list.find((item) => isObject(item) && item.name === name) : undefined;
	const entry = isObject(named) ? named[kind] : undefined;
	if (!isObject(entry)) throw new ConfigError(`kubeconfig: the ${kind} of the current context is missing`);
	return entry;
}

/** Reads a certificate or key: from the file itself, or from the file named there. */
function materialOf(entry: Fields, name: string, folder: string): string | undefined {
	const data = textOf(entry, `${name}-data`);
	if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
	const path = textOf(entry, name);
	return path === undefined ? undefined : readText(resolve(folder, path));
}

/** Reads a text of an entry; undefined when it is empty. */
function textOf(entry: Fields, name: string): string | undefined {
	const value = entry[name];
	if (value === undefined || value === null || value === "") return undefined;
	if (typeof value !== "string") throw new ConfigError(`kubeconfig: ${name} must be a text`);
	return value;
}
