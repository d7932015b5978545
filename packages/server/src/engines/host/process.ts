import { finished } from "node:stream/promises";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { type EngineResponse, MAX_RESPONSE_BYTES, ProtocolViolation, readResponse, splitLines } from "@svc/protocol";
import type { Child } from "./launch.ts";
import { EngineUnavailable, type Timing } from "./model.ts";
import type { Stderr } from "./stderr.ts";

const LINE_FEED = 0x0a;

/** End of a process. */
export interface End {
	/** Status with which it exited by itself; null when it was killed or never started. */
	status: number | null;
	reason: string;
}

/** Parts of a process. */
interface ProcessParts {
	child: Child;
	stderr: Stderr;
	timing: Timing;
	/** Called once, when it can take no further request: it may be dying, and is gone when `ended` resolves. */
	onLost(): void;
}

interface Pending {
	resolve(response: EngineResponse): void;
	reject(error: EngineUnavailable): void;
	timers: NodeJS.Timeout[];
}

/**
 * One process of an engine: a line goes out, a line comes in. Messages have no ids, so only the order matches answers to requests: a process
 * that writes anything but one line per request, or is late, is killed.
 * Design: §8
 */
export class EngineProcess {
	/** Resolves when the process and its streams are gone; never rejects. */
	readonly ended: Promise<End>;
	readonly #parts: ProcessParts;
	readonly #resolveEnded: (end: End) => void;
	#pending: Pending | undefined;
	#answers = 0;
	/** Reason why we killed it. */
	#killReason: string | undefined;
	#end: End | undefined;
	#isLost: boolean = false;

	constructor(parts: ProcessParts) {
		const { promise, resolve } = Promise.withResolvers<End>();
		this.ended = promise;
		this.#resolveEnded = resolve;
		this.#parts = parts;
		this.#listen();
	}

	/** Number of requests that it answered. */
	get answers(): number {
		return this.#answers;
	}

	/**
	 * Sends a request and waits for its answer. No other request may be under way.
	 * @param line with its line feed
	 * @throws EngineUnavailable
	 */
	ask(line: Buffer, deadline_ms: number): Promise<EngineResponse> {
		if (this.#isLost) return Promise.reject(new EngineUnavailable(this.#why(), false));
		const { promise, resolve, reject } = Promise.withResolvers<EngineResponse>();
		const { write_ms } = this.#parts.timing;
		const deadline = setTimeout(() => this.kill(`it did not answer within ${seconds(deadline_ms)}`), deadline_ms);
		const drain = setTimeout(() => this.kill(`it did not read its request within ${seconds(write_ms)}`), write_ms);
		this.#pending = { resolve, reject, timers: [deadline, drain] };
		this.#parts.child.stdin.write(line, () => clearTimeout(drain));
		return promise;
	}

	/** Kills it immediately. A request under way fails with the reason. */
	kill(reason: string): void {
		if (this.#end !== undefined) return;
		this.#killReason ??= reason;
		this.#parts.child.stdout.destroy();
		this.#parts.child.kill("SIGKILL");
		this.#lose();
		this.#take()?.reject(new EngineUnavailable(this.#why(), true));
	}

	/** Ends it in order: end of input, then SIGTERM, then SIGKILL. It may still answer its request. Resolves when it is gone. */
	async end(): Promise<void> {
		const { child, timing } = this.#parts;
		const hasEnded = () => Promise.race([this.ended, delay(timing.end_ms, undefined, { ref: false })]);
		this.#lose();
		child.stdin.end();
		if ((await hasEnded()) !== undefined) return;
		child.kill("SIGTERM");
		if ((await hasEnded()) !== undefined) return;
		this.kill("it did not exit when asked to");
		await this.ended;
	}

	#listen(): void {
		const { child } = this.#parts;
		const split = splitLines(MAX_RESPONSE_BYTES, {
			onLine: (line) => this.#answer(line),
			onOverflow: () => this.kill(`it answered with a line longer than ${MAX_RESPONSE_BYTES} bytes`),
		});
		child.stdout.on("data", (chunk: Buffer) => {
			const end = chunk.indexOf(LINE_FEED);
			if (this.#pending === undefined) this.kill("it wrote without a request");
			else if (end >= 0 && end < chunk.length - 1) this.kill("it answered one request with more than one line");
			else split(chunk);
		});
		// The reader went away: the exit or deadline that follows tells more.
		for (const stream of child.stdio) stream?.on("error", () => undefined);
		child.nodeChildProcess.once("exit", (status, signal) => void this.#drain(status, signal));
		// A process that never started has no exit event, only this result.
		void child.then(({ exitCode, signal, code }) => {
			if (exitCode === undefined && signal === undefined) this.#finish(null, `the process did not start (${code})`);
		});
	}

	#answer(line: Buffer): void {
		let response: EngineResponse;
		try {
			response = readResponse(line);
		} catch (error) {
			if (!(error instanceof ProtocolViolation)) throw error;
			this.kill(`it broke the protocol: ${error.message}`);
			return;
		}
		this.#answers++;
		this.#take()?.resolve(response);
	}

	/** Reads the last output of the process. Children in its group end with it, so that they do not hold the pipes open. */
	async #drain(status: number | null, signal: NodeJS.Signals | null): Promise<void> {
		const { child, timing } = this.#parts;
		child.kill("SIGKILL");
		const closed = [child.stdout, child.stderr].map((stream) => finished(stream).catch(() => undefined));
		await Promise.race([Promise.all(closed), delay(timing.drain_ms)]);
		// If this thread was held up, the pause ends before it has read the pipes: it reads them before its next turn.
		await nextTurn();
		const how = signal === null ? `the process exited with status ${status}` : `the process was ended by ${signal}`;
		this.#finish(status, how);
	}

	#finish(status: number | null, how: string): void {
		if (this.#end !== undefined) return;
		const { child, stderr } = this.#parts;
		const said = this.#answers === 0 ? stderr.beginning() : "";
		this.#end = { status, reason: said === "" ? how : `${how}: ${said}` };
		for (const stream of child.stdio) stream?.destroy();
		this.#lose();
		this.#take()?.reject(new EngineUnavailable(this.#why(), true));
		this.#resolveEnded({ status: this.#killReason === undefined ? status : null, reason: this.#why() });
	}

	#lose(): void {
		if (this.#isLost) return;
		this.#isLost = true;
		this.#parts.onLost();
	}

	#take(): Pending | undefined {
		const pending = this.#pending;
		this.#pending = undefined;
		for (const timer of pending?.timers ?? []) clearTimeout(timer);
		return pending;
	}

	#why(): string {
		return this.#killReason ?? this.#end?.reason ?? "the process is being stopped";
	}
}

function seconds(milliseconds: number): string {
	return `${milliseconds / 1000} s`;
}
