#!/usr/bin/env node
import process from "node:process";
import { serveEngine } from "@svc/plugin-sdk";
import { engine } from "./engine.ts";

/** Serves the engine on a process's streams until its input ends. */
export async function run(host: NodeJS.Process): Promise<void> {
	await serveEngine(engine, host);
}

if (import.meta.main) await run(process);
