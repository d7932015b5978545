import type { Random } from "../random.ts";
import type { DiskEvent } from "./recording.ts";

/** The fate of the unsynced part in a power cut: none of it reached the disk, all of it, or some sectors. */
export type Fate = "none" | "all" | "some";

/** The content of every file, by name in the folder. */
export type Image = Map<string, Buffer>;

type Change = { at: number; offset: number | "end"; bytes: Buffer } | { at: number; size: number };
type File = { durable: Buffer; pending: Change[] };
type Names = Map<string, File>;
type NameChange = { at: number; directory: string; apply: (names: Names) => void };

const SECTOR_BYTES = 512;

/** A folder on a disk that keeps synced data and may lose the rest. */
export interface Disk {
	/** Applies the next event. */
	apply: (event: DiskEvent) => void;
	/** Returns the folder as a power cut would leave it now. */
	crash: (fate: Fate, random: Random) => Image;
}

/**
 * Makes a disk that follows the letter of POSIX rather than the kindness of one file system: a sync of a file makes its content
 * durable but not its name, a sync of a directory makes the names in it durable. Names change in order; sectors do not.
 */
export function createDisk(): Disk {
	const names: Names = new Map();
	const durableNames: Names = new Map();
	let pendingNames: NameChange[] = [];

	const change = (at: number, file: string, apply: (of: Names) => void) => {
		apply(names);
		pendingNames.push({ at, directory: directoryOf(file), apply });
	};

	const opened = (event: DiskEvent & { kind: "open" }) => {
		const file = names.get(event.file);
		if (file && event.truncate) file.pending.push({ at: event.at, size: 0 });
		if (file || !event.create) return;
		const created: File = { durable: Buffer.alloc(0), pending: [] };
		change(event.at, event.file, (of) => of.set(event.file, created));
	};

	const synced = (event: DiskEvent & { kind: "sync" }) => {
		const isCovered = (pending: { at: number }) => pending.at < event.begun;
		const file = names.get(event.file);
		if (file) {
			file.durable = replay(file.durable, file.pending.filter(isCovered));
			file.pending = file.pending.filter((pending) => !isCovered(pending));
			return;
		}
		const isDurable = (pending: NameChange) => isCovered(pending) && pending.directory === event.file;
		for (const pending of pendingNames.filter(isDurable)) pending.apply(durableNames);
		pendingNames = pendingNames.filter((pending) => !isDurable(pending));
	};

	const apply = (event: DiskEvent) => {
		if (event.kind === "open") opened(event);
		else if (event.kind === "sync") synced(event);
		else if (event.kind === "write" || event.kind === "resize") names.get(event.file)?.pending.push(event);
		else if (event.kind === "unlink") change(event.at, event.file, (of) => of.delete(event.file));
		else if (event.kind === "link") change(event.at, event.to, (of) => link(of, event.file, event.to));
		else if (event.kind === "rename") change(event.at, event.file, (of) => rename(of, event.file, event.to));
	};

	const crash = (fate: Fate, random: Random) => {
		const found = new Map(durableNames);
		const kept = { none: 0, all: pendingNames.length, some: random.below(pendingNames.length + 1) }[fate];
		for (const pending of pendingNames.slice(0, kept)) pending.apply(found);
		return new Map([...found].map(([name, file]) => [name, contentOf(file, fate, random)]));
	};

	return { apply, crash };
}

function link(names: Names, from: string, to: string): void {
	const file = names.get(from);
	if (file) names.set(to, file);
}

function rename(names: Names, from: string, to: string): void {
	const file = names.get(from);
	if (!file) return;
	names.delete(from);
	names.set(to, file);
}

function directoryOf(file: string): string {
	return file.includes("/") ? file.slice(0, file.lastIndexOf("/")) : "";
}

function contentOf(file: File, fate: Fate, random: Random): Buffer {
	if (fate === "none") return file.durable;
	const reached = fate === "all" ? file.pending : file.pending.flatMap((pending) => survivors(pending, random));
	return replay(file.durable, reached);
}

/** Loses a third of the unsynced changes, keeps a third whole and tears a third: every second sector, by chance. */
function survivors(pending: Change, random: Random): Change[] {
	const luck = random.below(3);
	if (luck === 0) return [];
	if (luck === 1 || "size" in pending || pending.offset === "end") return [pending];
	const { at, offset, bytes } = pending;
	const torn: Change[] = [];
	for (let from = 0; from < bytes.length; ) {
		const to = Math.min(bytes.length, from + SECTOR_BYTES - ((offset + from) % SECTOR_BYTES));
		if (random.below(2) === 0) torn.push({ at, offset: offset + from, bytes: bytes.subarray(from, to) });
		from = to;
	}
	return torn;
}

/** Applies the changes in order to a copy; a gap that a lost write leaves reads as zeros. */
function replay(before: Buffer, changes: Change[]): Buffer {
	if (changes.length === 0) return before;
	const added = changes.reduce((sum, change) => sum + ("size" in change ? 0 : change.bytes.length), 0);
	const furthest = Math.max(...changes.map(endOf));
	const content = Buffer.alloc(Math.max(before.length + added, furthest));
	before.copy(content);
	let size = before.length;
	for (const change of changes) {
		if ("size" in change) {
			content.fill(0, change.size, size);
			size = change.size;
			continue;
		}
		const offset = change.offset === "end" ? size : change.offset;
		change.bytes.copy(content, offset);
		size = Math.max(size, offset + change.bytes.length);
	}
	return content.subarray(0, size);
}

function endOf(change: Change): number {
	if ("size" in change) return change.size;
	return change.offset === "end" ? 0 : change.offset + change.bytes.length;
}
