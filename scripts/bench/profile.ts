/**
 * Reads the processor profiles that `node --cpu-prof` writes, one per thread: a tree of call frames, and for each sample the frame
 * that ran and the microseconds since the previous sample. Their clock is the machine's monotonic one, as in `process.hrtime`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Frame {
	readonly functionName: string;
	readonly url: string;
	/** Counted from 0. */
	readonly lineNumber: number;
}

interface Profile {
	readonly nodes: readonly { readonly id: number; readonly callFrame: Frame; readonly children?: readonly number[] }[];
	readonly startTime: number;
	readonly samples: readonly number[];
	readonly timeDeltas: readonly number[];
}

/** Time in a piece of code itself, without its callees. */
export interface SelfTime {
	readonly name: string;
	readonly us: number;
}

/** Distribution of a thread's time. */
export interface ThreadTime {
	/** 0 is the main thread. */
	readonly thread: number;
	/** Most first. */
	readonly byFunction: readonly SelfTime[];
	readonly byPackage: readonly SelfTime[];
}

/** A span of time, microseconds of the monotonic clock. */
export interface Span {
	readonly fromUs: number;
	readonly toUs: number;
}

/** Reads every thread's profile in a folder and sums up the span. */
export function readProfiles(folder: string, span: Span): ThreadTime[] {
	const files = readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"));
	return files
		.map((name) => {
			const profile = JSON.parse(readFileSync(join(folder, name), "utf8")) as Profile;
			// CPU.date.time.process.thread.number.cpuprofile
			return sumUp(profile, span, Number(name.split(".")[4]));
		})
		.toSorted((a, b) => a.thread - b.thread);
}

function sumUp(profile: Profile, { fromUs, toUs }: Span, thread: number): ThreadTime {
	const owners = ownersOf(profile);
	const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
	const byFunction = new Map<string, number>();
	const byPackage = new Map<string, number>();
	let at = profile.startTime;
	for (const [index, id] of profile.samples.entries()) {
		const us = profile.timeDeltas[index] ?? 0;
		at += us;
		const frame = frames.get(id);
		if (frame === undefined || at < fromUs || at > toUs) continue;
		const owner = owners.get(id) ?? "";
		add(byFunction, nameOf(frame, owner), us);
		add(byPackage, owner, us);
	}
	return { thread, byFunction: mostFirst(byFunction), byPackage: mostFirst(byPackage) };
}

/** The package of each frame. Native code has no file: it belongs to its caller. */
function ownersOf({ nodes }: Profile): Map<number, string> {
	const children = new Map(nodes.map((node) => [node.id, node]));
	const owners = new Map<number, string>();
	const visit = (id: number, caller: string): void => {
		const node = children.get(id);
		if (node === undefined) return;
		const { url, functionName } = node.callFrame;
		const owner = url === "" ? (/^\(.*\)$/.test(functionName) ? functionName : caller) : packageOf(url);
		owners.set(id, owner);
		for (const child of node.children ?? []) visit(child, owner);
	};
	const root = nodes[0];
	if (root !== undefined) visit(root.id, "(node)");
	return owners;
}

function packageOf(url: string): string {
	if (url.startsWith("node:")) {
		const module = url.replace(/^node:(internal\/)?/, "").split("/")[0];
		return `node:${module?.replace(/^_(http|stream|tls).*/, "$1")}`;
	}
	const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
	if (installed !== undefined) return installed;
	return `ours: ${/\/packages\/([^/]+\/src\/[^/]+)/.exec(url)?.[1] ?? "?"}`;
}

function nameOf({ functionName, url, lineNumber }: Frame, owner: string): string {
	const name = functionName === "" ? "(anonymous)" : functionName;
	if (url === "") return owner === name ? name : `${name} (native, from ${owner})`;
	const file = url.replace(/.*\/node_modules\//, "").replace(/.*\/packages\//, "packages/");
	return `${name} ${file}:${lineNumber + 1}`;
}

function add(sums: Map<string, number>, name: string, us: number): void {
	sums.set(name, (sums.get(name) ?? 0) + us);
}

function mostFirst(sums: Map<string, number>): SelfTime[] {
	return [...sums].map(([name, us]) => ({ name, us })).toSorted((a, b) => b.us - a.us);
}
