/* Shared by the tests of engines. */
import type { TestContext } from "node:test";
import type { Fields } from "@svc/protocol";
import { createTestSystem } from "../testing/system.ts";
import { builtInEntry } from "./host/built-in.ts";
import type { EngineSettings } from "./host/host.ts";
import type { BuiltInEngine } from "./host/model.ts";
import type { Connector } from "./kinds/connector.ts";
import type { Kind } from "./kinds/kind.ts";
import { createRuntime, type Runtime, type RuntimeNeeds } from "./runtime.ts";

type Settings = Pick<EngineSettings, "environment" | "reads">;

/** Makes a runtime over one engine, the list of its processes' settings, and counts of closed connections and of pools that were asked for. */
export function runtimeOver(
	t: TestContext,
	{ descriptor, kind }: { descriptor: object; kind: Kind },
	fields: Fields = {},
	engine_environment: Record<string, string> = {},
) {
	const launch = { file: "", arguments: [] };
	const engine: BuiltInEngine = { descriptor, network: true, launch, node: "arguments" };
	const asked: Settings[] = [];
	const seen = { closed: 0, pools: 0 };
	const host = {
		pool(_: string, { environment, reads }: EngineSettings) {
			seen.pools++;
			return {
				async call() {
					asked.push({ environment, reads });
					return { data: {} };
				},
			};
		},
		retire: () => undefined,
		close: async () => undefined,
	};
	const connector = { close: async () => void seen.closed++ } as unknown as Connector;
	const entry = builtInEntry(engine, () => ({ ...kind, connect: async () => connector }));
	const needs = {
		store: { engines: { configs: async () => [] } },
		system: createTestSystem(),
		sealer: { open: async () => fields },
		catalog: { byType: new Map([[entry.type, entry]]), list: () => [entry] },
		host,
		engine_environment,
	} as unknown as RuntimeNeeds;
	const runtime: Runtime = createRuntime(needs);
	t.after(() => runtime.close());
	return { runtime, asked, seen };
}
