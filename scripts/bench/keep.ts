import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type RunRecord, renderPage } from "./report.ts";

const FOLDER = fileURLToPath(new URL("../../bench/", import.meta.url));

/** Keeps a run in `bench/results`, and rewrites the page when it covers all scenarios. Returns the file's path from the repository. */
export function keepRun(run: RunRecord, isWhole: boolean): string {
	const words = run.description
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, "-")
		.replace(/^-|-$/g, "");
	const name = `results/${run.started_at.slice(0, 10)}-${words}.json`;
	mkdirSync(`${FOLDER}results`, { recursive: true });
	writeFileSync(FOLDER + name, `${JSON.stringify(run, undefined, "\t")}\n`);
	if (isWhole) writeFileSync(`${FOLDER}README.md`, renderPage(run));
	return `bench/${name}`;
}
