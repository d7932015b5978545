/**
 * Starts svc, and answers each connection to the socket in its first argument with the processor time of the main thread's longest
 * turn since the previous answer, in microseconds. Nothing else runs during a turn.
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
	// Once per turn; it is unreferenced, so the event loop sleeps as it would without it.
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
	// Linux updates a running thread's time when asked for the whole process; otherwise it is as old as the scheduler's last tick.
	process.cpuUsage();
	const { user, system } = process.threadCpuUsage();
	return user + system;
}
