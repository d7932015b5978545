import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { type ConnectionOptions, createSecureContext, getCACertificates } from "node:tls";
import { EngineError, parseTtl } from "@svc/plugin-sdk";
import { readKubeconfig } from "./kubeconfig.ts";
import { isNamespace, NAMESPACE_RULE } from "./names.ts";
import { ConfigError, errorCode, type Identity, type Source, type Trust } from "./source.ts";

/** The options of a TLS connection that a configuration decides. */
type TlsOptions = Pick<ConnectionOptions, "ca" | "cert" | "key" | "rejectUnauthorized" | "servername">;

/** The orchestrator's address, and the means to reach it. */
export interface Connection {
	/** Http or https; every call's path follows its own. */
	api_server: URL;
	/**
	 * Reads the bearer token; undefined when a client certificate replaces it.
	 * @throws ConfigError when its file cannot be read any more
	 */
	bearerToken: (() => string) | undefined;
	tls: TlsOptions;
}

/** The engine's configuration. Spec: ENGINES › Container orchestrator engine configuration */
export interface Config extends Connection {
	/** The default namespace of requests. */
	namespace: string;
	/** The default lifetime of tokens, as written. */
	token_ttl: string;
}

/** The place of a pod's service account. */
const MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Reads the configuration: each value from its variable, else from the client configuration file, if any, else from the pod.
 * @param warn takes warnings for the engine's operator
 * @throws ConfigError
 * Spec: ENGINES › Container orchestrator engine configuration
 */
export function readConfig(env: NodeJS.ProcessEnv, warn: (text: string) => void): Config {
	const given = fromVariables(env);
	const found = env.SVC_ORCH_KUBECONFIG ? readKubeconfig(env.SVC_ORCH_KUBECONFIG) : fromPod(env);
	const api_server = readAddress(given.server ?? found.server);
	const trust = given.trust ?? found.trust;
	if (api_server.protocol === "http:")
		warn("the API server is reached over plain HTTP: the token can be read on the way");
	else if (trust === "unverified") warn("TLS verification of the API server is skipped: use this in development only");
	return {
		api_server,
		...readIdentity(given.identity ?? found.identity, {
			...trustOptions(trust),
			...(found.servername === undefined ? {} : { servername: found.servername }),
		}),
		namespace: readNamespace(given.namespace ?? found.namespace ?? "default"),
		token_ttl: readTokenTtl(env.SVC_ORCH_TOKEN_TTL || "1h"),
	};
}

/** Tells how the holder of a credential reaches the same API server: its address, and its trust. Nothing of the engine's own identity. */
export function connectionOf({ api_server, tls }: Connection): Record<string, string | boolean> {
	return {
		server: api_server.href.replace(/\/$/, ""),
		...(typeof tls.ca === "string" ? { ca_cert: tls.ca } : {}),
		...(tls.servername === undefined ? {} : { tls_server_name: tls.servername }),
		...(tls.rejectUnauthorized === false ? { insecure_skip_tls_verify: true } : {}),
	};
}

/** Reads the variables. An empty variable counts as unset, except the CA certificate. */
function fromVariables(env: NodeJS.ProcessEnv): Source {
	const { SVC_ORCH_API_SERVER, SVC_ORCH_TOKEN, SVC_ORCH_NAMESPACE, SVC_ORCH_SKIP_TLS, SVC_ORCH_CA_CERT } = env;
	const trust = SVC_ORCH_SKIP_TLS === "true" || SVC_ORCH_CA_CERT === "" ? "unverified" : undefined;
	return {
		server: SVC_ORCH_API_SERVER || undefined,
		trust: trust ?? (SVC_ORCH_CA_CERT === undefined ? undefined : { ca: SVC_ORCH_CA_CERT }),
		identity: SVC_ORCH_TOKEN ? { token: SVC_ORCH_TOKEN } : undefined,
		namespace: SVC_ORCH_NAMESPACE || undefined,
	};
}

/** Reads a pod's knowledge of its cluster; empty outside of a pod. In tests SVC_ORCH_MOUNT replaces the mount. */
function fromPod(env: NodeJS.ProcessEnv): Source {
	const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, SVC_ORCH_MOUNT: folder = MOUNT } = env;
	if (!host || !port) return {};
	const tokenFile = join(folder, "token");
	const ca = readMounted(join(folder, "ca.crt"));
	return {
		server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
		trust: ca === undefined ? undefined : { ca },
		identity: readMounted(tokenFile) === undefined ? undefined : { tokenFile },
		namespace: readMounted(join(folder, "namespace")),
	};
}

function readMounted(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8").trim();
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		throw new ConfigError(`the service-account mount cannot be read (${errorCode(error)})`);
	}
}

function readAddress(text: string | undefined): URL {
	if (text === undefined) {
		throw new ConfigError(
			"the API server address cannot be resolved: set SVC_ORCH_API_SERVER or SVC_ORCH_KUBECONFIG, or run in a pod",
		);
	}
	const url = URL.parse(text);
	if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
		throw new ConfigError("the API server address must be a URL such as https://10.0.0.1:6443, without user or query");
	}
	return url;
}

function trustOptions(trust: Trust | undefined): TlsOptions {
	if (trust === "unverified") return { rejectUnauthorized: false };
	if (trust === undefined) return { ca: [...getCACertificates("default"), ...getCACertificates("system")] };
	try {
		new X509Certificate(trust.ca);
	} catch {
		// TLS itself would silently trust nobody.
		throw new ConfigError("the CA certificate of the API server is not a PEM certificate");
	}
	return { ca: trust.ca };
}

function readIdentity(identity: Identity | undefined, tls: TlsOptions): Pick<Connection, "bearerToken" | "tls"> {
	if (identity === undefined) {
		throw new ConfigError(
			"the API server token cannot be resolved: set SVC_ORCH_TOKEN, name a user with a token or a client certificate in the kubeconfig, or run in a pod",
		);
	}
	if ("certificate" in identity) {
		const { certificate: cert, key } = identity;
		try {
			createSecureContext({ cert, key });
		} catch {
			throw new ConfigError("kubeconfig: the client certificate and its key cannot be used");
		}
		return { bearerToken: undefined, tls: { ...tls, cert, key } };
	}
	// The orchestrator replaces a mounted token well before it expires.
	const bearerToken = () => checkToken("token" in identity ? identity.token : readTokenFile(identity.tokenFile));
	bearerToken();
	return { bearerToken, tls };
}

function readTokenFile(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		throw new ConfigError(`the token file cannot be read (${errorCode(error)})`);
	}
}

/** @returns the token as sent in a header */
function checkToken(text: string): string {
	const token = text.trim();
	if (!/^[\x21-\x7e]+$/.test(token)) throw new ConfigError("the API server token must be visible ASCII characters");
	return token;
}

function readNamespace(text: string): string {
	if (!isNamespace(text)) throw new ConfigError(`the default namespace ${NAMESPACE_RULE}`);
	return text;
}

function readTokenTtl(text: string): string {
	try {
		parseTtl(text);
		return text;
	} catch (error) {
		if (error instanceof EngineError) throw new ConfigError(`SVC_ORCH_TOKEN_TTL: ${error.message}`);
		throw error;
	}
}
