import type { TestContext } from "node:test";
import { type Fields, isObject } from "@svc/plugin-sdk";
import { type FakeOptions, type FakeOrchestrator, startFakeOrchestrator } from "../../test/peers/kubernetes-fake.ts";
import { connectionOf, readConfig } from "./config.ts";
import { createEngine } from "./engine.ts";
import { createOrchestrator } from "./orchestrator.ts";

/** An engine in this process, and the fake orchestrator behind it. */
export interface Bench {
	readonly fake: FakeOrchestrator;
	ping(): Promise<void>;
	generate(params: Fields): Promise<Fields>;
	validate(params: Fields): Promise<Fields>;
	list(params: Fields): Promise<Fields>;
	privileges(params: Fields): Promise<Fields>;
}

/** Options of a test's engine and fake. */
export interface BenchOptions {
	/** Milliseconds for one call; 10 s by default. */
	readonly timeout_ms?: number;
	/** In addition to address, token and CA certificate. */
	readonly env?: Readonly<Record<string, string | undefined>>;
	readonly fake?: FakeOptions;
}

/** Path of the service accounts of the namespace `default`. */
export const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";
/** Path of the role bindings of the namespace `default`. */
export const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
/** The core's lease, with a name of its choice. */
export const LEASE = { id: "0123456789abcdef0123456789abcdef", name: "svc-00c0ffee" };

/** Starts a fake and an engine that uses it; both end with the test. */
export async function startBench(t: TestContext, options: BenchOptions = {}): Promise<Bench> {
	const fake = await startFakeOrchestrator(options.fake);
	t.after(() => fake.stop());
	const env = {
		SVC_ORCH_API_SERVER: fake.url,
		SVC_ORCH_TOKEN: fake.token,
		SVC_ORCH_CA_CERT: fake.ca,
		...options.env,
	};
	const config = readConfig(env, () => undefined);
	const orchestrator = createOrchestrator(config, options.timeout_ms);
	t.after(() => orchestrator.close());
	const engine = createEngine(orchestrator, config, connectionOf(config));
	return {
		fake,
		ping: async () => engine.ping?.({}),
		generate: async (params) => (await engine.generate?.(params)) ?? {},
		validate: async (params) => (await engine.validate?.(params)) ?? {},
		list: async (params) => (await engine.list?.(params)) ?? {},
		privileges: async (params) => (await engine.privileges?.(params)) ?? {},
	};
}

/** Reads the metadata of one of the fake's objects. @throws Error when it has none */
export function metadataOf(fake: FakeOrchestrator, path: string): Fields {
	const { metadata } = fake.objects.get(path) ?? {};
	if (!isObject(metadata)) throw new Error(`there is no ${path}`);
	return metadata;
}
