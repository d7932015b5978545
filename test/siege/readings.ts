import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { ask } from "./asking.ts";

/** States of a TCP connection as Linux numbers them. https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html */
const STATES = { established: "01", fin_wait2: "05", close_wait: "08" } as const;

/** A server's resources in use. */
export interface Held {
	/** Without the three streams of each engine process: the server keeps such processes for the next calls, a few of each engine. */
	readonly descriptors: number;
	readonly established: number;
	/** Closed by the other end only; by us only. */
	readonly close_wait: number;
	readonly fin_wait2: number;
	/** Use of each limit, by name. */
	readonly limits: Readonly<Record<string, number>>;
}

/** The server's own report. */
export interface Said {
	readonly limits: Held["limits"];
	/** Milliseconds of the event loop's longest turn since the last report; undefined when the server does not report it. */
	readonly longestTurnMs: number | undefined;
}

/** A server to read. */
export interface Read {
	readonly pid: number;
	readonly port: number;
}

/** Limits on what happens within a minute, a day, or some minutes, and on what is stored. */
const NOTHING_HELD = /_per_(?:minute|day)_|^(?:failed_logins|passkey_uses)_per_|^realm_bytes$/;

/** Asks for the metrics. @throws Error when they do not come */
export async function readMetrics({ port }: Pick<Read, "port">): Promise<Said> {
	const { body } = await ask({ host: "127.0.0.1", port }, { path: "/metrics" });
	const turn = /^svc_event_loop_longest_turn_seconds (\S+)$/m.exec(body)?.[1];
	const used = [...body.matchAll(/^svc_limit_used\{limit="([^"]+)"\} (\S+)$/gm)];
	// What happened within a time is over by itself, and what a realm stores is its data: neither holds anything.
	const held = used.filter(([, name = ""]) => !NOTHING_HELD.test(name));
	return {
		limits: Object.fromEntries(held.map(([, name, value]) => [name, Number(value)])),
		longestTurnMs: turn === undefined ? undefined : Number(turn) * 1000,
	};
}

/** Counts the server's resources. @throws Error when it has ended */
export async function readHeld(server: Read): Promise<Held> {
	const { limits } = await readMetrics(server);
	// Until the connection of this request is closed.
	await wait(200);
	const sockets = socketsOf(server.port);
	return {
		descriptors: readdirSync(`/proc/${server.pid}/fd`).length - 3 * countChildren(server.pid),
		established: sockets(STATES.established),
		close_wait: sockets(STATES.close_wait),
		fin_wait2: sockets(STATES.fin_wait2),
		limits,
	};
}

function countChildren(pid: number): number {
	const threads = readdirSync(`/proc/${pid}/task`);
	return threads.flatMap((id) => readFileSync(`/proc/${pid}/task/${id}/children`, "utf8").match(/\d+/g) ?? []).length;
}

/** 127.0.0.1 as Linux writes it, also at the end of an IPv6 address. Attackers have others, whose ports may equal the server's. */
const LOOPBACK = "0100007F";

/** Counts the server's ends of its connections, by state. */
function socketsOf(port: number): (state: string) => number {
	const local = `${LOOPBACK}:${port.toString(16).toUpperCase().padStart(4, "0")}`;
	const states = ["tcp", "tcp6"].flatMap((table) => {
		const rows = readFileSync(`/proc/net/${table}`, "utf8").trim().split("\n").slice(1);
		return rows.flatMap((row) => {
			const [, address, , state] = row.trim().split(/\s+/);
			return address?.endsWith(local) ? [state] : [];
		});
	});
	return (state) => states.filter((one) => one === state).length;
}

/** Resident memory in MB of 10^6 bytes: now, and the maximum since `forgetPeak`. NaN when the process has ended. */
export function readMemory(pid: number): { nowMb: number; peakMb: number } {
	const status = statusOf(pid);
	const mb = (name: string) => (Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024) / 1e6;
	return { nowMb: mb("VmRSS"), peakMb: mb("VmHWM") };
}

function statusOf(pid: number): string {
	try {
		return readFileSync(`/proc/${pid}/status`, "utf8");
	} catch {
		return "";
	}
}

/** Resets a process's memory peak. https://docs.kernel.org/filesystems/proc.html */
export function forgetPeak(pid: number): void {
	writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** Processor time in seconds: of the machine, and of a process with all its descendants. */
export interface Busy {
	readonly allS: number;
	readonly oursS: number;
}

const TICKS_PER_S = 100;

/** Reads the processor times for this process. */
export function readBusy(): Busy {
	const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = readFileSync("/proc/stat", "utf8")
		.split("\n", 1)
		.join()
		.split(/\s+/)
		.map(Number);
	const parents = new Map<number, number>();
	const used = new Map<number, number>();
	for (const pid of readdirSync("/proc").map(Number).filter(Number.isInteger)) {
		const fields = fieldsOf(pid);
		if (fields === undefined) continue;
		parents.set(pid, Number(fields[1]));
		// utime, stime, and those of ended children.
		used.set(
			pid,
			fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0),
		);
	}
	const isOurs = (pid: number): boolean => pid === process.pid || (parents.has(pid) && isOurs(parents.get(pid) ?? 0));
	const ours = [...used].reduce((sum, [pid, ticks]) => (isOurs(pid) ? sum + ticks : sum), 0);
	return { allS: (user + nice + system + irq + softirq + steal) / TICKS_PER_S, oursS: ours / TICKS_PER_S };
}

/** Returns the fields of /proc/PID/stat after the name, which may contain spaces; undefined when the process has ended. */
function fieldsOf(pid: number): string[] | undefined {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	} catch {
		return undefined;
	}
}
