/*
 * Reads the log of `strace -f -y -xx` and keeps the history of one folder: the bytes written to each file, the names that came
 * and went, the syncs, and the moment at which each acknowledgement left the process.
 * One line is one call: `PID NAME(ARGUMENTS) = RESULT`; a call interrupted by another thread takes two lines,
 * `… <unfinished ...>` and `<... NAME resumed> …`. -y adds the path to every descriptor, -xx writes every
 * string as `\xNN`, so that quotes, commas and brackets are never part of a string.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** A change of the folder, or an acknowledgement. `at` is the line of the log at which it took effect. */
export type DiskEvent =
	| { kind: "open"; at: number; file: string; create: boolean; truncate: boolean }
	| { kind: "write"; at: number; file: string; offset: number | "end"; bytes: Buffer }
	| { kind: "resize"; at: number; file: string; size: number }
	| { kind: "unlink"; at: number; file: string }
	| { kind: "rename"; at: number; file: string; to: string }
	| { kind: "link"; at: number; file: string; to: string }
	| { kind: "sync"; at: number; file: string; begun: number }
	| { kind: "ack"; at: number; ids: string[] };

/** Finds the identifiers that output to a socket or pipe acknowledges (text is latin1). */
export type AckRecogniser = (written: string) => string[];

/** The calls that the recording needs; pass them to strace as `-e trace=`. */
export const TRACED_CALLS = [
	...["open", "creat", "openat", "openat2", "lseek", "write", "writev", "pwrite64", "pwritev", "pwritev2"],
	...["ftruncate", "truncate", "fallocate", "copy_file_range", "sendfile", "sendto", "sendmsg"],
	...["unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"],
	...["fsync", "fdatasync", "sync_file_range", "io_uring_setup"],
];

/** The longest string that strace prints, in bytes: more than any single write of the recorded programs (the binary unpacks an addon of 2 MB). */
export const STRING_LIMIT_BYTES = 4_194_304;

// strace shows a file unlinked while open as `3<path>(deleted)`: nobody can see its changes again.
const DESCRIPTOR = /(\d+)<([^>]*)>(?!\(deleted\))/g;
const FIRST_DESCRIPTOR = /^(\d+)<([^>]*)>(?!\(deleted\))/;

type Call = { name: string; args: string; result: number; resultPath: string | undefined; begun: number; at: number };

/**
 * Reads the log into the events of `root` (an absolute, real path) in the order in which they took effect. Leaves out the -shm
 * file: SQLite rebuilds it.
 * @throws Error when a call that cannot be replayed changed the folder
 */
export async function readRecording(log: string, root: string, recognise: AckRecogniser): Promise<DiskEvent[]> {
	const events: DiskEvent[] = [];
	const unfinished = new Map<string, { text: string; begun: number }>();
	const toEvents = eventsOf(root);
	let at = 0;
	for await (const line of createInterface({ input: createReadStream(log, "latin1") })) {
		at += 1;
		const { pid = "", text = "" } = /^(?<pid>\d+)\s+(?<text>.*)$/.exec(line)?.groups ?? {};
		if (text.endsWith("<unfinished ...>")) {
			unfinished.set(pid, { text: text.slice(0, -"<unfinished ...>".length).trimEnd(), begun: at });
			events.push(...acksOf(text, at, recognise));
			continue;
		}
		const resumed = /^<\.\.\. \w+ resumed>/.exec(text);
		const start = resumed ? unfinished.get(pid) : undefined;
		const whole = resumed ? `${start?.text ?? ""}${text.slice(resumed[0].length)}` : text;
		if (!resumed) events.push(...acksOf(text, at, recognise));
		const call = parseCall(whole, start?.begun ?? at, at);
		if (call && call.result >= 0) events.push(...toEvents(call));
	}
	return events;
}

function parseCall(text: string, begun: number, at: number): Call | undefined {
	const groups = /^(?<name>\w+)\((?<args>.*)\)\s+= (?<result>-?\d+)(?:<(?<path>[^>]*)>)?/.exec(text)?.groups;
	if (!groups) return undefined;
	const { name = "", args = "", result, path } = groups;
	return { name, args, result: Number(result), resultPath: path && unhex(path).toString(), begun, at };
}

function acksOf(text: string, at: number, recognise: AckRecogniser): DiskEvent[] {
	const target = /^(?:write|writev|sendto|sendmsg)\(\d+<(?<target>[^>]*)>/.exec(text)?.groups?.target;
	if (target === undefined || !/^(?:socket|pipe|TCP|UNIX)/.test(unhex(target).toString())) return [];
	const ids = recognise(bytesOf(text).toString("latin1"));
	return ids.length > 0 ? [{ kind: "ack", at, ids }] : [];
}

/** Keeps the position of every open descriptor, because a plain write does not name its offset. */
function eventsOf(root: string): (call: Call) => DiskEvent[] {
	const positions = new Map<string, number | "end">();
	return (call) => {
		const { fd, path } = descriptorOf(call.args);
		const file = nameIn(root, path);
		const { at, begun, name } = call;
		switch (name) {
			case "open":
			case "creat":
			case "openat":
			case "openat2":
				positions.set(String(call.result), call.args.includes("O_APPEND") ? "end" : 0);
				return openEvents(call, nameIn(root, call.resultPath));
			case "lseek":
				positions.set(fd, call.result);
				return [];
			case "write":
			case "writev": {
				const position = positions.get(fd) ?? 0;
				if (position !== "end") positions.set(fd, position + call.result);
				return file === undefined ? [] : [writeEvent(call, file, position)];
			}
			case "pwrite64":
				return file === undefined ? [] : [writeEvent(call, file, lastNumber(call.args))];
			case "ftruncate":
				return file === undefined ? [] : [{ kind: "resize", at, file, size: lastNumber(call.args) }];
			case "fsync":
			case "fdatasync":
				return file === undefined ? [] : [{ kind: "sync", at, file, begun }];
			default:
				return nameEvents(call, root);
		}
	};
}

function openEvents(call: Call, file: string | undefined): DiskEvent[] {
	const create = call.name === "creat" || call.args.includes("O_CREAT");
	const truncate = call.name === "creat" || call.args.includes("O_TRUNC");
	return file !== undefined && (create || truncate) ? [{ kind: "open", at: call.at, file, create, truncate }] : [];
}

function writeEvent(call: Call, file: string, offset: number | "end"): DiskEvent {
	const bytes = bytesOf(call.args).subarray(0, call.result);
	if (bytes.length !== call.result) throw new Error(`line ${call.at}: ${call.name} was not recorded whole`);
	return { kind: "write", at: call.at, file, offset, bytes };
}

function nameEvents(call: Call, root: string): DiskEvent[] {
	const paths = [...call.args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((match) => unhex(match[1] ?? "").toString());
	const [file, to] = [nameIn(root, paths[0]), nameIn(root, paths[1])];
	const { at, name } = call;
	if (/^unlink(?:at)?$/.test(name)) return file === undefined ? [] : [{ kind: "unlink", at, file }];
	if (file !== undefined && to !== undefined) {
		if (/^rename(?:at2?)?$/.test(name)) return [{ kind: "rename", at, file, to }];
		if (/^link(?:at)?$/.test(name)) return [{ kind: "link", at, file, to }];
	}
	const descriptors = [...call.args.matchAll(DESCRIPTOR)].map((match) =>
		nameIn(root, unhex(match[2] ?? "").toString()),
	);
	if ([file, to, ...descriptors].every((touched) => touched === undefined) || name === "sync_file_range") return [];
	throw new Error(`line ${at}: cannot replay ${name} in the folder`);
}

function descriptorOf(args: string): { fd: string; path: string | undefined } {
	const [, fd = "", path] = args.match(FIRST_DESCRIPTOR) ?? [];
	return { fd, path: path && unhex(path).toString() };
}

/** Returns the path below the root, `''` for the root itself, undefined for files elsewhere or those that are rebuilt anyway. */
function nameIn(root: string, path: string | undefined): string | undefined {
	if (path === undefined || path.endsWith("-shm")) return undefined;
	if (path === root) return "";
	return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined;
}

function bytesOf(args: string): Buffer {
	return Buffer.concat([...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((match) => unhex(match[1] ?? "")));
}

function unhex(text: string): Buffer {
	return text.startsWith("\\x") ? Buffer.from(text.replaceAll("\\x", ""), "hex") : Buffer.from(text);
}

function lastNumber(args: string): number {
	return Number(/(\d+)$/.exec(args)?.[1]);
}
