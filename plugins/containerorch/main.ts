#!/usr/bin/env node
import process from "node:process";
import { serveEngine } from "@svc/plugin-sdk";
import { connectionOf, readConfig } from "./config.ts";
import { createEngine } from "./engine.ts";
import { createOrchestrator } from "./orchestrator.ts";
import { ConfigError } from "./source.ts";

/**
 * Serves the engine on a process's streams until its input ends. An unusable configuration ends the process with status 1
 * and a message on standard error.
 * Spec: ENGINES › Container orchestrator engine configuration, Errors
 */
export async function run(host: NodeJS.Process): Promise<void> {
	const say = (text: string) => host.stderr.write(`containerorch: ${text}\n`);
	try {
		const config = readConfig(host.env, (text) => say(`warning: ${text}`));
		const orchestrator = createOrchestrator(config);
		await serveEngine(createEngine(orchestrator, config, connectionOf(config)), host);
		await orchestrator.close();
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		say(error.message);
		host.exitCode = 1;
	}
}

if (import.meta.main) await run(process);
