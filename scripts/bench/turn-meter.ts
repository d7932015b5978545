/**
 * Starts svc, and answers whoever connects to the socket that its first argument names with the processor time of the main thread's longest
 * turn since it was last asked, in microseconds. Nothing else runs during a turn.
 */
import { createServer } from "node:net";

const [socket = ""] = process.argv.splice(2, 1);
meter(socket);
await import(new URL("../../packages/svc/src/bin.mjs", import.meta.url).href);

function meter(path: string): void {
	let longest = 0;
	let last = usedUs();
	const measure = (): void => {
		const used = usedUs();
		longest = Math.max(longest, used - last);
		last = used;
		next();
	};
	// Once in each turn; as it is not referenced, the event loop sleeps as it would without it.
	const next = (): void => void setImmediate(measure).unref();
	next();
	const server = createServer((asker) => {
		asker.on("error", () => undefined);
		asker.end(String(longest));
		longest = 0;
	});
	server.listen(path).unref();
}

function usedUs(): number {
	// Linux brings a running thread's time up to date when it is asked for the whole process; else it is as old as the scheduler's last tick.
	process.cpuUsage();
	const { user, system } = process.threadCpuUsage();
	return user + system;
}
