import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { EngineResponse } from "@svc/protocol";
import { createTestLog, type TestLog } from "../../testing/log.ts";
import { type Cleanup, makeFolder } from "../../testing/store.ts";
import { type Catalog, loadCatalog } from "./catalog.ts";
import { createEngineHost, type EngineHost, type EngineSettings, EngineUnavailable } from "./host.ts";
import type { BuiltInEngine, Timing } from "./model.ts";
import type { Pool } from "./pool.ts";

/** Folder with the engines of the tests. */
export const FIXTURES = fileURLToPath(new URL("./fixtures/", import.meta.url));

/** Makes a descriptor with the fields that every one has. */
export function descriptorOf(name: string, changes: object = {}) {
	return {
		name,
		version: "0.1.0",
		display_name: "An engine of the tests",
		description: "Misbehaves",
		sdk_version: 1,
		min_core_version: "0.1.0",
		capabilities: ["engine:secret_generation", "engine:secret_validation"],
		tier: "test",
		config_schema: { type: "object", properties: {}, required: [] },
		default_roles: [],
		...changes,
	};
}

/** Makes an unrestricted engine of a script; its file's name is its type. @param script below `fixtures`, such as `hostile/deaf.mjs` */
export function scripted(script: string, changes: object = {}): BuiltInEngine {
	const file = join(FIXTURES, script);
	const type = script.replace(/^.*\/|\.\w+$/g, "");
	const launch = { file: script.endsWith(".sh") ? "/bin/sh" : process.execPath, arguments: [file] };
	return { descriptor: descriptorOf(type, changes), network: false, node: false, launch };
}

/** Makes an engine of a script that Node restricts like ours. @param node way to pass the flags to Node */
export function restricted(script: string, network = false, node: BuiltInEngine["node"] = "arguments"): BuiltInEngine {
	return { ...scripted(script), node, network, reads: [FIXTURES] };
}

/** Makes settings without a secret. */
export function settings(changes: Partial<EngineSettings> = {}): EngineSettings {
	return { key: "a", environment: {}, reads: [], secrets: [], ...changes };
}

/** A host whose engines can be called by type. */
interface CalledHost extends EngineHost {
	call(type: string, settings: EngineSettings, ...call: Parameters<Pool["call"]>): Promise<EngineResponse>;
}

/** Lets a test call the engines of a host. @param realm the caller by default; else the core */
export function callable(host: EngineHost, realm?: string): CalledHost {
	return {
		...host,
		call: async (type, started, method, params, of = realm, payer) =>
			host.pool(type, started).call(method, params, of, payer),
	};
}

/** A host with its own catalogue. */
export interface TestHost {
	host: CalledHost;
	catalog: Catalog;
	log: TestLog;
	/** Private folder, removed after the test. */
	folder: string;
}

/** Makes a host whose calls come from one realm by default, with short pauses after failures; its processes end after the test. */
export async function startHost(
	cleanup: Cleanup,
	engines: readonly BuiltInEngine[],
	timing: Partial<Timing> = {},
): Promise<TestHost> {
	const folder = await makeFolder(cleanup);
	const log = createTestLog();
	const plugins_dir = join(folder, "plugins.d");
	const runtime_dir = join(folder, "run");
	const catalog = loadCatalog({ built_in: engines, kindOf: () => ({}), plugins_dir, runtime_dir, log: log.log });
	const host = createEngineHost({ catalog, log: log.log, core_version: "0.1.0", timing: { pause_ms: 5, ...timing } });
	cleanup.after(async () => {
		await host.close();
		catalog.close();
	});
	return { host: callable(host, "a realm"), catalog, log, folder };
}

/** Returns the error of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<EngineUnavailable> {
	const outcome = await call.then(
		(answer) => assert.fail(`answered ${JSON.stringify(answer).slice(0, 200)}`),
		(error: unknown) => error,
	);
	assert.ok(outcome instanceof EngineUnavailable, String(outcome));
	return outcome;
}

/** Tells whether the process with this id runs; a zombie does not. */
export function isRunning(pid: number): boolean {
	try {
		return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
	} catch {
		return false;
	}
}
