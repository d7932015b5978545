import { sameRequest } from "../load.ts";
import { readProfiles, type SelfTime, type ThreadTime } from "../profile.ts";
import { settle } from "../resident.ts";
import { scratchFolder } from "../scratch.ts";
import { startSvc } from "../svc-server.ts";
import { runWrk, writeScript } from "../wrk.ts";
import { CONNECTIONS, KINDS } from "./against-bare.ts";
import { ENGINE_KINDS } from "./generate.ts";

const WARM_UP_S = 3;
const PROFILED_S = 8;
/** Functions to show; the rest is below the noise. */
const SHOWN = 45;
/** Microseconds between two samples. */
const INTERVAL_US = 200;

/**
 * Loads our server with one kind of request under Node's profiler and shows where each thread's time went.
 * @param name of the kind, such as `read`
 * @throws Error when there is no such kind
 */
export async function profileKind(name: string): Promise<string> {
	const kinds = [...KINDS, ...ENGINE_KINDS];
	const kind = kinds.find((candidate) => candidate.name === name);
	if (kind === undefined)
		throw new Error(`--profile goes with --only ${kinds.map((known) => known.name).join(" or ")}`);
	const folder = scratchFolder();
	const options = ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${INTERVAL_US}`];
	const server = await startSvc({ protocol: "http", nodeOptions: options });
	const resident = await settle(server.url);
	const prepared = await kind.prepare?.(server, resident);
	const [request] = kind.requests(resident);
	const { connections = CONNECTIONS } = kind;
	const load = { server, script: writeScript(sameRequest(request)), connections };
	await runWrk({ ...load, seconds: WARM_UP_S });
	const fromUs = nowUs();
	const { requests, perSecond } = await runWrk({ ...load, seconds: PROFILED_S });
	const span = { fromUs, toUs: nowUs() };
	await Promise.all([server.stop(), prepared?.stop()]);
	const threads = readProfiles(folder, span);
	const head = `${name}: ${Math.round(perSecond)} req/s under the profiler; microseconds are per request`;
	return [head, ...threads.map((thread) => describe(thread, requests))].join("\n\n");
}

function nowUs(): number {
	return Number(process.hrtime.bigint() / 1000n);
}

function describe({ thread, byPackage, byFunction }: ThreadTime, requests: number): string {
	const row = ({ name, us }: SelfTime): string => `${(us / requests).toFixed(2).padStart(8)} µs  ${name}`;
	const title = thread === 0 ? "main thread" : `worker thread ${thread}`;
	return [
		`— ${title}, by package`,
		...byPackage.map(row),
		`\n— ${title}, by function`,
		...byFunction.slice(0, SHOWN).map(row),
	].join("\n");
}
