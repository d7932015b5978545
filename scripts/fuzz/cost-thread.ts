import { parentPort, workerData } from "node:worker_threads";
import { findCostly } from "../../test/fuzz/cost.ts";
import { loadTarget } from "../../test/fuzz/targets.ts";

/* Measures a corpus in a thread of its own, with sources that are not instrumented. */
const { name, inputs } = workerData as { name: string; inputs: Uint8Array[] };
parentPort?.postMessage(
	await findCostly(
		await loadTarget(name),
		inputs.map((input) => Buffer.from(input)),
	),
);
