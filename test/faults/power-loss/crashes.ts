import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Random } from "../random.ts";
import { createDisk, type Fate, type Image } from "./disk.ts";
import type { DiskEvent } from "./recording.ts";

/** The written folder after a power cut, and the acknowledgements until then; valid until you ask for the next crash. */
export interface Crash {
	readonly folder: string;
	readonly acked: readonly string[];
	readonly description: string;
}

/** The number of power cuts (four images each), the folder for the images, and the source of chance. */
export interface CrashPlan {
	readonly moments: number;
	readonly folder: string;
	readonly random: Random;
}

const FATES: Fate[] = ["none", "all", "some", "some"];

/**
 * Cuts the power at many moments of the recording and yields the folder left by each cut; the next one overwrites it.
 * Half of the moments come right after an acknowledgement, where a lost commit shows first.
 */
export function* crashes(events: DiskEvent[], plan: CrashPlan): Generator<Crash> {
	const moments = chooseMoments(events, plan);
	const disk = createDisk();
	const acked: string[] = [];
	for (const [index, event] of events.entries()) {
		if (event.kind === "ack") acked.push(...event.ids);
		disk.apply(event);
		if (!moments.has(index)) continue;
		for (const fate of FATES) {
			writeImage(plan.folder, disk.crash(fate, plan.random));
			yield { folder: plan.folder, acked, description: `power cut after event ${index}, unsynced data: ${fate}` };
		}
	}
}

function chooseMoments(events: DiskEvent[], plan: CrashPlan): Set<number> {
	const all = [...events.keys()];
	const afterAck = all.filter((index) => events[index]?.kind === "ack");
	const half = Math.ceil(plan.moments / 2);
	return new Set([...sample(afterAck, half, plan.random), ...sample(all, half, plan.random)]);
}

function sample(from: number[], count: number, random: Random): number[] {
	if (from.length <= count) return from;
	return Array.from({ length: count }, () => from[random.below(from.length)] ?? 0);
}

function writeImage(folder: string, image: Image): void {
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	for (const [name, content] of image) {
		mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
		writeFileSync(join(folder, name), content, { mode: 0o600 });
	}
}
