/* docs/container/compose-three.yaml: its settings are the server's, and the real PostgreSQL and HAProxy take what it gives them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parse } from "yaml";
import { readConfig } from "../../packages/server/src/config.ts";
import { readBuild } from "../../packages/server/src/health/build.ts";
import { readAddresses } from "../../packages/server/src/store/postgres/address.ts";
import { withConnection } from "../../packages/server/src/store/postgres/connection.ts";
import { createServerCertificate } from "../../packages/x509/src/index.ts";
import { DATA } from "../../scripts/image/root.ts";
import { runScript, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";
import { textOf } from "./markdown.ts";

const { services, secrets, configs } = parse(textOf("docs/container/compose-three.yaml"), { merge: true });
const { postgres: database_service, balancer, ...nodes } = services;

/** Debian installs it where not every PATH looks. */
const HAPROXY = "/usr/sbin/haproxy";
const skipWithoutHaproxy = spawnSync(HAPROXY, ["-v"]).status === 0 ? false : "haproxy is not installed";

function folderOf(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), "svc-compose-"));
	t.after(() => rmSync(folder, { recursive: true }));
	return folder;
}

test("three servers share a database through its socket, and believe the balancer alone", () => {
	assert.deepEqual(Object.keys(nodes), ["one", "two", "three"]);
	for (const [name, node] of Object.entries<typeof nodes.one>(nodes)) {
		const config = readConfig({ ...node.environment, SVC_LISTEN: "0.0.0.0:8443" }, "/");
		const { trusted_proxies, credentials_dir, drain_seconds } = config;
		assert.deepEqual(trusted_proxies, [balancer.networks.default.ipv4_address]);
		assert.equal(credentials_dir, "/run/secrets");
		assert.ok(Number.parseInt(node.stop_grace_period, 10) >= drain_seconds + 15);
		assert.deepEqual(node.volumes, [`${name}:${DATA}`, "socket:/run/postgresql"]);
		assert.equal(node.image, `svc:${readBuild().version}`);
		const [{ host, user, database } = assert.fail()] = readAddresses({ ...config, credentials_dir: undefined });
		assert.deepEqual([host, user, database], ["/run/postgresql", "svc", "svc"]);
	}
});

test("PostgreSQL is reached through the servers' socket alone, and each secret is somebody's", () => {
	assert.equal(database_service.network_mode, "none");
	assert.ok(database_service.volumes.includes("socket:/var/run/postgresql"));
	const used = Object.values<{ secrets: string[] }>(services).flatMap((service) => service.secrets);
	assert.deepEqual(new Set(Object.keys(secrets)), new Set(used));
});

test("PostgreSQL makes the role with its password, and its database", { skip: skipWithoutPostgres }, async (t) => {
	const access = ["host all svc 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"];
	const postgres = await startPostgres({ access });
	t.after(() => postgres.stop());
	const file = join(folderOf(t), "password");
	const password = "of 'two' words";
	writeFileSync(file, `${password}\n`);
	// The test's superuser has the name of the role.
	const script = configs.roles.content
		.replace("/run/secrets/database-password", file)
		.replace("ROLE svc", "ROLE app")
		.replace("OWNER svc", "OWNER app");
	runScript(postgres, "postgres", script);
	const { host, port } = postgres;
	const owner = "SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = current_database()";
	const found = await withConnection({ host, port, user: "app", database: "svc", password }, (connection) =>
		connection.rows(owner),
	);
	assert.deepEqual(found, [{ owner: "app" }]);
});

test("HAProxy takes its configuration", { skip: skipWithoutHaproxy }, (t) => {
	const folder = folderOf(t);
	const [pem, file] = [join(folder, "balancer.pem"), join(folder, "haproxy.cfg")];
	const names = ["secrets.example.com"];
	const made = createServerCertificate({ names, now: new Date(), days: 1, randomBytes: (size) => randomBytes(size) });
	writeFileSync(pem, made.certificate + made.private_key);
	writeFileSync(file, configs.haproxy.content.replace("/run/secrets/balancer.pem", pem));
	const { status, stderr } = spawnSync(HAPROXY, ["-c", "-f", file], { encoding: "utf8" });
	assert.equal(status, 0, stderr);
	assert.doesNotMatch(stderr, /WARNING/);
});
