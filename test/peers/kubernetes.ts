import { spawnSync } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIdentity } from "./identity.ts";
import { type ApiAnswer, apiClient, type KubernetesApi } from "./kubernetes-api.ts";
import { type Launched, startAssets } from "./kubernetes-assets.ts";
import { findKubernetes } from "./kubernetes-binary.ts";
import { kubeconfigOf } from "./kubernetes-config.ts";
import { startPeer } from "./kubernetes-process.ts";

const found = await findKubernetes();

/** `false` where a Kubernetes can be started, else the reason to skip the test. The first import builds it: minutes, once. */
export const skipWithoutKubernetes: string | false = "missing" in found ? found.missing : false;

/** `false` where kubectl can ask such a Kubernetes, else the reason to skip the test. */
export const skipWithoutKubectl: string | false =
	skipWithoutKubernetes ||
	(spawnSync("kubectl", ["version", "--client"]).error === undefined
		? false
		: "kubectl is not installed: apt-get install kubernetes-client");

/** A rule of a cluster role. */
export interface PolicyRule {
	readonly apiGroups: readonly string[];
	readonly resources: readonly string[];
	readonly verbs: readonly string[];
	readonly resourceNames?: readonly string[];
}

/** A real Kubernetes API server on loopback without nodes: nothing ever runs in it. */
export interface Kubernetes {
	readonly url: string;
	/** PEM of the authority that signed its certificate. */
	readonly ca: string;
	/** Token of an account that may do everything. */
	readonly adminToken: string;
	/** Private key, in PEM, that signs the tokens of service accounts. Their issuer is `url`. */
	readonly signingKey: string;
	/** A client configuration of the administrator, in YAML. */
	readonly kubeconfig: string;
	/** Sends one request, as the administrator unless you pass a token. A text is sent as YAML. */
	request(method: string, path: string, body?: object | string, token?: string): Promise<ApiAnswer>;
	/** Reads the public keys of the tokens of service accounts: a JWK set. */
	keys(): Promise<object>;
	/** Makes a namespace. */
	namespace(name: string): Promise<void>;
	/** Returns the token of a new service account with these rules: in the namespaces, or everywhere without any. */
	restrictedToken(rules: readonly PolicyRule[], namespaces?: readonly string[]): Promise<string>;
	/** Stops it and removes its folder. */
	stop(): Promise<void>;
}

/**
 * Starts a Kubernetes, which takes some three seconds.
 * @throws Error when none is available, or with its output when it does not become ready
 */
export async function startKubernetes(): Promise<Kubernetes> {
	const dir = await mkdtemp(join(tmpdir(), "svc-kubernetes-"));
	try {
		const { ca, token, signingKey } = await writeFiles(dir);
		const { url, end } = await launch(dir, (address) => apiClient(address, ca, token));
		const api = apiClient(url, ca, token);
		return {
			url,
			ca,
			adminToken: token,
			signingKey,
			kubeconfig: kubeconfigOf(url, ca, token),
			request: api.request,
			keys: async () => (await api.request("GET", "/openid/v1/jwks", undefined, token, "*/*")).body,
			namespace: (name) => create(api, "/api/v1/namespaces", { metadata: { name } }),
			restrictedToken: (rules, namespaces) => restrictedToken(api, rules, namespaces),
			stop: async () => {
				api.close();
				await end();
				await rm(dir, { recursive: true });
			},
		};
	} catch (error) {
		await rm(dir, { recursive: true, force: true });
		throw error;
	}
}

/** Writes the files with which the server knows itself and its administrator. */
async function writeFiles(dir: string): Promise<{ ca: string; token: string; signingKey: string }> {
	const { ca, cert, key } = await createIdentity(["127.0.0.1", "localhost"]);
	const token = randomBytes(32).toString("base64url");
	const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const signingKey = privateKey.export({ type: "sec1", format: "pem" }).toString();
	for (const [name, content] of Object.entries({
		"ca.crt": ca,
		"server.crt": cert,
		"server.key": key,
		"sa.key": signingKey,
		"admin.token": token,
		"tokens.csv": `${token},admin,admin,"system:masters"`,
	})) {
		await writeFile(join(dir, name), content, { mode: 0o600 });
	}
	return { ca, token, signingKey };
}

async function launch(dir: string, connect: (url: string) => KubernetesApi): Promise<Launched> {
	if ("missing" in found) throw new Error(found.missing);
	if ("assets" in found) return startAssets(found.assets, dir, connect);
	const peer = startPeer(found.program, ["--dir", dir], dir);
	try {
		return { url: await peer.until(() => /^ready (\S+)$/m.exec(peer.output())?.[1]), end: peer.end };
	} catch (error) {
		await peer.end();
		throw error;
	}
}

let accounts = 0;

async function restrictedToken(api: KubernetesApi, rules: readonly PolicyRule[], namespaces?: readonly string[]) {
	accounts += 1;
	const name = `restricted-${accounts}`;
	const rbac = "/apis/rbac.authorization.k8s.io/v1";
	const binding = {
		metadata: { name },
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
		subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
	};
	await create(api, `${rbac}/clusterroles`, { metadata: { name }, rules });
	await create(api, "/api/v1/namespaces/default/serviceaccounts", { metadata: { name } });
	if (namespaces === undefined) await create(api, `${rbac}/clusterrolebindings`, binding);
	for (const each of namespaces ?? []) await create(api, `${rbac}/namespaces/${each}/rolebindings`, binding);
	const { body } = await api.request("POST", `/api/v1/namespaces/default/serviceaccounts/${name}/token`, {
		spec: { expirationSeconds: 3600 },
	});
	return (body.status as { token: string }).token;
}

async function create(api: KubernetesApi, collection: string, object: object): Promise<void> {
	const { status, body } = await api.request("POST", collection, object);
	if (status !== 201) throw new Error(`POST ${collection}: ${status} ${body.message}`);
}
