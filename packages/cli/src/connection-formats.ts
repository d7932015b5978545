import { type Answer, isAnswer, optional, text } from "./answer.ts";
import { Failure } from "./failure.ts";

/** How a credential can be printed beside its plain fields. */
export const CONNECTION_FORMATS = ["url", "env", "kubeconfig", "json"] as const;

/** One of `CONNECTION_FORMATS`. */
export type ConnectionFormat = (typeof CONNECTION_FORMATS)[number];

/** Formats that not every engine's answer has, and the engines that do. Spec: ENGINES › Resources and their fields */
const ONLY: Readonly<Record<string, readonly string[]>> = {
	url: ["keyvalue", "documentdb", "totp"],
	kubeconfig: ["containerorch"],
};

/** Refuses a format that an engine's answer does not have: before it is asked, because a credential that is made is there. @throws Failure usage */
export function checkFormat(type: string, format: ConnectionFormat): void {
	const engines = ONLY[format];
	if (engines === undefined || engines.includes(type)) return;
	const others = ["env", "json", ...Object.keys(ONLY).filter((name) => ONLY[name]?.includes(type))];
	throw new Failure("usage", `what the engine ${type} makes has no ${format}: only that of ${engines.join(", ")} has`, {
		hint: `--format takes ${others.join(", ")} here`,
	});
}

/**
 * The address to connect with, user and password included: `redis://` or `rediss://` of keyvalue, the connection string of documentdb, the
 * `otpauth://` address of totp.
 * @param made what `generate` answers when it is asked for the connection, too
 * @throws Failure unreachable when the answer lacks a field
 */
export function connectionUrl(type: string, made: Answer): string {
	if (type === "documentdb") return text(made, "connection_uri");
	if (type === "totp") return text(made, "url");
	const [username, password] = [text(made, "username"), text(made, "password")].map(encodeURIComponent);
	const scheme = connectionOf(made).tls === true ? "rediss" : "redis";
	const database = optional(made, "database");
	// Without the usual one, nothing has to be selected, which the roles readonly and readwrite may not.
	const path = database === "" || database === "0" ? "" : `/${database}`;
	return `${scheme}://${username}:${password}@${text(made, "address")}${path}`;
}

/**
 * Variables for whoever connects: every field of the answer and of its connection under the prefix, and for keyvalue its URL, HOST and PORT,
 * for documentdb its URI.
 * @param made what `generate` answers when it is asked for the connection, too
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

/** An IPv6 host stands in brackets in an address, and nowhere else. */
function hostAndPort(address: string): { host: string; port: string } {
	const at = address.lastIndexOf(":");
	return { host: address.slice(0, at).replace(/^\[(.*)\]$/, "$1"), port: address.slice(at + 1) };
}

/**
 * A client configuration of Kubernetes, as YAML, for the token that containerorch has made.
 * @param made what `generate` answers when it is asked for the connection, too
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
