/* The files of docs/container: the settings in them are the server's, and the real API server of Kubernetes takes the objects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import { readConfig } from "../../packages/server/src/config.ts";
import { readBuild } from "../../packages/server/src/health/build.ts";
import { DATA, USER } from "../../scripts/image/root.ts";
import { skipWithoutKubernetes, startKubernetes } from "../peers/kubernetes.ts";
import { textOf } from "./markdown.ts";

const compose = parse(textOf("docs/container/compose.yaml"));
const ONE = "docs/container/kubernetes.yaml";
const THREE = "docs/container/kubernetes-three.yaml";

/** Finds the pod of a manifest's StatefulSet, and its container. */
function podOf(file: string) {
	const objects = parseAllDocuments(textOf(file)).map((document) => document.toJS());
	const { replicas, template } = objects.find(({ kind }) => kind === "StatefulSet").spec;
	const [container] = template.spec.containers;
	const env: Record<string, string> = Object.fromEntries(
		container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
	);
	return { replicas, spec: template.spec, container, env };
}

/** Where the API server makes objects of these kinds. */
const COLLECTIONS: Readonly<Record<string, string>> = {
	Namespace: "/api/v1/namespaces",
	Service: "/api/v1/namespaces/svc/services",
	PodDisruptionBudget: "/apis/policy/v1/namespaces/svc/poddisruptionbudgets",
	StatefulSet: "/apis/apps/v1/namespaces/svc/statefulsets",
};
const IMAGE = `svc:${readBuild().version}`;

test("the server takes the settings of the Compose file", () => {
	const { svc } = compose.services;
	const { master_key_file, base_url } = readConfig(svc.environment, "/");
	assert.deepEqual([master_key_file, base_url], ["/run/secrets/master-key", "https://127.0.0.1:8443"]);
	assert.deepEqual([svc.image, svc.volumes], [IMAGE, [`data:${DATA}`]]);
	assert.deepEqual([svc.secrets, Object.keys(compose.secrets)], [["master-key"], ["master-key"]]);
});

for (const file of [ONE, THREE])
	test(`the server takes the settings of ${file}, and its files lie where the pod has volumes`, () => {
		const { spec, container, env } = podOf(file);
		const { data_dir, credentials_dir } = readConfig(env, "/");
		const mounts = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
		assert.deepEqual([`${DATA}/svc`, "/run/credentials"], [data_dir, credentials_dir]);
		assert.deepEqual(mounts, [DATA, credentials_dir]);
		assert.deepEqual(
			[container.image, spec.securityContext.runAsUser, spec.securityContext.fsGroup],
			[IMAGE, USER, USER],
		);
	});

test("three servers share one database, and end after the Service has noticed", () => {
	const { replicas, spec, env } = podOf(THREE);
	const { database, drain_seconds } = readConfig(env, "/");
	assert.equal(replicas, 3);
	assert.ok(database !== undefined);
	assert.match(String(env.SVC_DATABASE_URL), /sslrootcert=\/run\/credentials\/ca\.crt$/);
	assert.ok(drain_seconds > 0 && spec.terminationGracePeriodSeconds >= drain_seconds + 15);
});

for (const file of [ONE, THREE])
	test(`Kubernetes takes ${file}, and knows every field in it`, { skip: skipWithoutKubernetes }, async () => {
		const kubernetes = await startKubernetes();
		try {
			// As text: Kubernetes reads an octal number where YAML 1.2 does not.
			for (const document of textOf(file).split("---\n")) {
				const { kind, apiVersion } = parse(document);
				const path = `${COLLECTIONS[kind]}?fieldValidation=Strict`;
				const { status, body } = await kubernetes.request("POST", path, document);
				assert.equal(status, 201, `${apiVersion} ${kind}: ${body.message}`);
				if (kind === "StatefulSet") assert.equal(modeOf(body as unknown as Made), 0o440);
			}
		} finally {
			await kubernetes.stop();
		}
	});

interface Made {
	spec: { template: { spec: { volumes: { secret?: Volume; projected?: Volume }[] } } };
}

interface Volume {
	defaultMode: number;
}

/** Finds the mode of the credentials' files. */
function modeOf({ spec }: Made): number | undefined {
	const [volume] = spec.template.spec.volumes;
	return (volume?.secret ?? volume?.projected)?.defaultMode;
}
