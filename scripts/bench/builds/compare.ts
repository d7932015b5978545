import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ask } from "../exchange.ts";
import { configureKeyValue, startRedis } from "../redis.ts";
import { type Resident, settle } from "../resident.ts";
import { median } from "../rounds.ts";
import { startSvc } from "../svc-server.ts";
import { sendAll } from "./client.ts";
import { BUILD_KINDS, type BuildKind, LISTED, setting } from "./kinds.ts";

const HERE = fileURLToPath(new URL("../../../", import.meta.url));

/** Requests that a build has answered before the first round, as a multiple of a round's. */
const WARM_UPS = 2;

/** A server of one build, and its client. */
interface Build {
	readonly url: string;
	readonly pid: number;
	readonly resident: Resident;
	/** Requests of a kind that it has been sent so far, in rounds. */
	readonly rounds: Map<string, number>;
	stop(): Promise<void>;
}

/**
 * Compares the processor time of a request between this checkout and another one: both servers run at once and are loaded by turns in short rounds of as many
 * requests; the ratio is the median of the rounds' own ratios.
 * @param directory of the other checkout, with its packages installed
 * @returns the table
 */
export async function compareBuilds(directory: string, only: string | undefined, rounds: number): Promise<string> {
	const kinds = BUILD_KINDS.filter(({ name }) => only === undefined || only.split(",").includes(name));
	if (kinds.length === 0) throw new Error(`--only takes ${BUILD_KINDS.map(({ name }) => name).join(", ")}`);
	const other = resolve(directory);
	const redis = kinds.some(({ name }) => name === "credential") ? await startRedis() : undefined;
	const [base, ours] = [await startBuild(other, redis), await startBuild(HERE, redis)];
	const rows = [];
	for (const kind of kinds) rows.push(await compareKind(kind, base, ours, rounds));
	await Promise.all([base.stop(), ours.stop(), redis?.stop()]);
	return [
		`Processor time of all threads a request, ${commitOf(HERE)} compared with ${commitOf(other)}, ${rounds} rounds by turns.`,
		"",
		"| request | processor time before | after | ratio | rounds' ratios | at most |",
		"| --- | --- | --- | --- | --- | --- |",
		...rows,
	].join("\n");
}

async function startBuild(
	checkout: string,
	redis: Parameters<typeof configureKeyValue>[2] | undefined,
): Promise<Build> {
	const server = await startSvc({ protocol: "http", program: [join(checkout, "packages/svc/src/bin.mjs")] });
	const resident = await settle(server.url);
	const { token } = resident;
	if (redis !== undefined) await configureKeyValue(server.url, token, redis);
	await ask(server.url, { method: "POST", path: "/api/v1/realms", token, body: { slug: "listed", name: "Listed" } });
	for (let at = 0; at < LISTED; at++) await ask(server.url, setting({ ...resident, slug: "listed" }, `KEY_${at}`));
	return { ...server, resident, rounds: new Map() };
}

async function compareKind(kind: BuildKind, base: Build, ours: Build, rounds: number): Promise<string> {
	for (let round = 0; round < WARM_UPS; round++) for (const build of [base, ours]) await costOf(kind, build);
	const measured: { before: number; after: number }[] = [];
	for (let round = 0; round < rounds; round++) {
		const isFirst = round % 2 === 0;
		const first = await costOf(kind, isFirst ? base : ours);
		const second = await costOf(kind, isFirst ? ours : base);
		measured.push(isFirst ? { before: first, after: second } : { before: second, after: first });
	}
	const ratios = measured.map(({ before, after }) => after / before);
	const us = (values: number[]) => `${median(values).toFixed(0)} µs`;
	const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
	const { title, atMost = "" } = kind;
	const [before, after] = [us(measured.map((one) => one.before)), us(measured.map((one) => one.after))];
	return `| ${title} | ${before} | ${after} | ${median(ratios).toFixed(2)} | ${spread} | ${atMost} |`;
}

/** Sends a round to a build. @returns microseconds of processor time a request */
async function costOf(kind: BuildKind, { url, pid, resident, rounds }: Build): Promise<number> {
	const round = rounds.get(kind.name) ?? 0;
	rounds.set(kind.name, round + 1);
	const requests = kind.requests(resident, round, kind.count);
	const before = processorUs(pid);
	await sendAll(url, kind.connections, requests);
	return (processorUs(pid) - before) / kind.count;
}

/** Processor time of all threads of a process: the scheduler counts it in nanoseconds, /proc/PID/stat in ticks of 10 ms. */
function processorUs(pid: number): number {
	const tasks = `/proc/${pid}/task`;
	const used = readdirSync(tasks).map((task) =>
		Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]),
	);
	return used.reduce((sum, ns) => sum + ns, 0) / 1000;
}

function commitOf(checkout: string): string {
	return execFileSync("git", ["-C", checkout, "describe", "--always", "--dirty"], { encoding: "utf8" }).trim();
}
