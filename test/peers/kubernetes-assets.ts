import { join } from "node:path";
import { freePort } from "./free-port.ts";
import type { KubernetesApi } from "./kubernetes-api.ts";
import { startPeer } from "./kubernetes-process.ts";

/** A running Kubernetes. */
export interface Launched {
	readonly url: string;
	end(): Promise<void>;
}

/**
 * Starts the released etcd and kube-apiserver in a folder with the files of `startKubernetes`. There are no controllers.
 * @param assets the folder of the two programs
 * @param connect makes a client for the administrator
 */
export async function startAssets(
	assets: string,
	dir: string,
	connect: (url: string) => KubernetesApi,
): Promise<Launched> {
	const url = `https://127.0.0.1:${await freePort()}`;
	const store = `unix://${join(dir, "etcd.sock")}`;
	const etcd = startPeer(
		join(assets, "etcd"),
		[
			`--data-dir=${join(dir, "etcd")}`,
			`--listen-client-urls=${store}`,
			// Must have a port, but nobody connects to this address.
			"--advertise-client-urls=http://localhost:2379",
			`--listen-peer-urls=unix://${join(dir, "peer.sock")}`,
			"--unsafe-no-fsync",
		],
		dir,
	);
	const server = startPeer(join(assets, "kube-apiserver"), serverFlags(dir, store, url), dir);
	const end = async () => {
		await server.end();
		await etcd.end();
	};
	try {
		const { request } = connect(url);
		await server.until(async () => {
			const { status } = await request("GET", "/readyz").catch(() => ({ status: 0 }));
			return status === 200 || undefined;
		});
		await aggregateRoles(request);
		return { url, end };
	} catch (error) {
		await end();
		throw error;
	}
}

/** The issuer of its service accounts' tokens is its own address, where it answers discovery. */
function serverFlags(dir: string, store: string, url: string): string[] {
	return [
		`--etcd-servers=${store}`,
		"--bind-address=127.0.0.1",
		`--secure-port=${new URL(url).port}`,
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		`--tls-cert-file=${join(dir, "server.crt")}`,
		`--tls-private-key-file=${join(dir, "server.key")}`,
		`--token-auth-file=${join(dir, "tokens.csv")}`,
		`--service-account-issuer=${url}`,
		`--service-account-jwks-uri=${url}/openid/v1/jwks`,
		`--service-account-key-file=${join(dir, "sa.key")}`,
		`--service-account-signing-key-file=${join(dir, "sa.key")}`,
	];
}

/** Fills view, edit and admin with the rules of the roles that aggregate to them, as a controller would. */
async function aggregateRoles(request: KubernetesApi["request"]): Promise<void> {
	const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
	for (const name of ["view", "edit", "admin"]) {
		const parts = await request(
			"GET",
			`${roles}?labelSelector=${encodeURIComponent(`rbac.authorization.k8s.io/aggregate-to-${name}=true`)}`,
		);
		const items = parts.body.items as { rules: object[] }[];
		const { body: role } = await request("GET", `${roles}/${name}`);
		const { status } = await request("PUT", `${roles}/${name}`, {
			...role,
			rules: items.flatMap(({ rules }) => rules),
		});
		if (status !== 200) throw new Error(`the cluster role ${name} could not be filled: ${status}`);
	}
}
