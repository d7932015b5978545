#!/usr/bin/env node
import process from "node:process";
import { serveEngine } from "@svc/plugin-sdk";
import { createPkiEngine } from "./engine.ts";
import { readSettings, SettingsError } from "./settings.ts";

/**
 * Serves the engine on a process's streams until its input ends. Unusable settings end the process with status 1 and a
 * message on standard error.
 * Spec: ENGINES › Certificate authority engine, Errors
 */
export async function run(host: NodeJS.Process): Promise<void> {
	const say = (text: string) => host.stderr.write(`pki: ${text}\n`);
	try {
		const settings = await readSettings(host.env, (text) => say(`warning: ${text}`));
		await serveEngine(createPkiEngine(settings), host);
	} catch (error) {
		if (!(error instanceof SettingsError)) throw error;
		say(error.message);
		host.exitCode = 1;
	}
}

if (import.meta.main) await run(process);
