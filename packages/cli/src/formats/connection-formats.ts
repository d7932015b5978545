import { type Answer, isAnswer, optional, text } from "../client/answer.ts";
import { Failure } from "../failure.ts";

/** Formats of a credential besides its plain fields. */
export const CONNECTION_FORMATS = ["url", "env", "kubeconfig", "json"] as const;

/** One of `CONNECTION_FORMATS`. */
export type ConnectionFormat = (typeof CONNECTION_FORMATS)[number];

/** Formats that only some engines' answers have, with those engines. Spec: ENGINES › Resources and their fields */
const ONLY: Readonly<Record<string, readonly string[]>> = {
	url: ["keyvalue", "documentdb", "totp"],
	kubeconfig: ["containerorch"],
};

/** Refuses a format that an engine's answer lacks, before the engine is asked: a credential, once made, stays. @throws Failure usage */
export function checkFormat(type: string, format: ConnectionFormat): void {
	const engines = ONLY[format];
	if (engines === undefined || engines.includes(type)) return;
	const others = ["env", "json", ...Object.keys(ONLY).filter((name) => ONLY[name]?.includes(type))];
	throw new Failure(
		"usage",
		`credentials of ${type} cannot be printed as ${format}: only those of ${engines.join(", ")} can`,
		{
			hint: `--format takes ${others.join(", ")} here`,
		},
	);
}

/**
 * The address to connect to, with user and password: `redis://` or `rediss://` for keyvalue, the connection string for documentdb, the
 * `otpauth://` address for totp.
 * @param made the answer of `generate`, with the connection
 * @throws Failure unreachable when the answer lacks a field
 */
export function connectionUrl(type: string, made: Answer): string {
	if (type === "documentdb") return text(made, "connection_uri");
	if (type === "totp") return text(made, "url");
	const [username, password] = [text(made, "username"), text(made, "password")].map(encodeURIComponent);
	const scheme = connectionOf(made).tls === true ? "rediss" : "redis";
	const database = optional(made, "database");
	// Leaves out the default database: selecting one is not allowed to the roles readonly and readwrite.
	const path = database === "" || database === "0" ? "" : `/${database}`;
	return `${scheme}://${username}:${password}@${text(made, "address")}${path}`;
}

/**
 * Variables for a program that connects: every field of the answer and of its connection under the prefix, with URL, HOST and PORT for keyvalue
 * and URI for documentdb.
 * @param made the answer of `generate`, with the connection
 * @param prefix in front of each name, such as `cache` for CACHE_URL; the engine's type by default
 * @throws Failure unreachable when the answer lacks a field
 */
export function connectionVariables(
	type: string,
	made: Answer,
	prefix: string = type,
): [name: string, value: string][] {
	const { connection: _, connection_uri, ...fields } = made;
	const all = {
		...(type === "keyvalue" ? { url: connectionUrl(type, made), ...hostAndPort(text(made, "address")) } : {}),
		...(connection_uri === undefined ? {} : { uri: connection_uri }),
		...fields,
		...connectionOf(made),
	};
	return Object.entries(all).map(([name, value]) => [
		`${prefix}_${name}`.toUpperCase().replace(/[^A-Z0-9]/g, "_"),
		typeof value === "string" ? value : JSON.stringify(value),
	]);
}

/** An IPv6 host has brackets in an address, and nowhere else. */
function hostAndPort(address: string): { host: string; port: string } {
	const at = address.lastIndexOf(":");
	return { host: address.slice(0, at).replace(/^\[(.*)\]$/, "$1"), port: address.slice(at + 1) };
}

/**
 * A Kubernetes client configuration, as YAML, for a token made by containerorch.
 * @param made the answer of `generate`, with the connection
 * @throws Failure unreachable when the answer lacks a field
 */
export async function kubeconfigOf(made: Answer): Promise<string> {
	const { stringify } = await import("yaml");
	const [namespace, user, connection] = [text(made, "namespace"), text(made, "service_account"), connectionOf(made)];
	const ca = optional(connection, "ca_cert");
	const name = optional(connection, "tls_server_name");
	const cluster = {
		server: text(connection, "server"),
		...(ca === "" ? {} : { "certificate-authority-data": Buffer.from(ca).toString("base64") }),
		...(name === "" ? {} : { "tls-server-name": name }),
		...(connection.insecure_skip_tls_verify === true ? { "insecure-skip-tls-verify": true } : {}),
	};
	return stringify({
		apiVersion: "v1",
		kind: "Config",
		clusters: [{ name: "svc", cluster }],
		users: [{ name: user, user: { token: text(made, "token") } }],
		contexts: [{ name: "svc", context: { cluster: "svc", user, namespace } }],
		"current-context": "svc",
	});
}

function connectionOf({ connection }: Answer): Answer {
	return isAnswer(connection) ? connection : {};
}
