import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { loadCatalog } from "../../server/src/engines/host/catalog.ts";
import { createEngineHost } from "../../server/src/engines/host/host.ts";
import { BUILT_IN } from "./built-in-engines.ts";

const folder = await mkdtemp(join(tmpdir(), "svc-built-in-"));
const said: unknown[] = [];
const log = (...line: unknown[]) => void said.push(line);
const options = { built_in: BUILT_IN, plugins_dir: join(folder, "none"), runtime_dir: folder };
const catalog = loadCatalog({ ...options, kindOf: () => ({}), log });
const host = createEngineHost({ catalog, log, core_version: "0.1.0" });

after(async () => {
	await host.close();
	await rm(folder, { recursive: true, force: true });
});

/** Settings that the orchestrator's engine needs to start; nobody listens there. */
const UNREACHABLE = { SVC_ORCH_API_SERVER: "https://127.0.0.1:9", SVC_ORCH_TOKEN: "token", SVC_ORCH_SKIP_TLS: "true" };

const ASKED: Record<string, [method: "ping" | "generate", params: object, answer: RegExp]> = {
	containerorch: ["ping", {}, /^\{"error":"(?!.*ERR_ACCESS_DENIED)/],
	documentdb: ["generate", { database: "app" }, /"doc_command":/],
	keyvalue: ["generate", {}, /"kv_command":"ACL SETUSER svc_/],
	pki: ["generate", { common_name: "a.example" }, /"certificate":"-----BEGIN CERTIFICATE-----/],
	totp: ["generate", { issuer: "svc", account: "a", account_name: "a" }, /"data"/],
};

for (const [type, [method, params, expected]] of Object.entries(ASKED)) {
	test(`${type} comes with svc, and works with nothing but what it is allowed to`, async () => {
		const entry = catalog.byType.get(type) ?? assert.fail();
		assert.deepEqual(
			[entry.is_built_in, entry.network, entry.unavailable],
			[true, type === "containerorch", undefined],
		);
		const settings = { key: "a", environment: type === "containerorch" ? UNREACHABLE : {}, reads: [], secrets: [] };
		const answer = await host.pool(type, settings).call(method, { ...params });
		assert.match(JSON.stringify(answer), expected);
	});
}

test("nothing else comes with svc, and only what talks to a system of its own may open connections", () => {
	assert.deepEqual(
		catalog.list().map(({ type }) => type),
		Object.keys(ASKED),
	);
	for (const { type, launch } of catalog.list()) {
		assert.equal(launch([]).arguments.includes("--allow-net"), type === "containerorch");
	}
});
