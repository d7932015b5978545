import { availableParallelism } from "node:os";
import { type EngineResponse, type Fields, MAX_REQUEST_BYTES, type Method, writeRequest } from "@svc/protocol";
import { releaseSlot } from "../../request-slot.ts";
import { faultOfDescribe } from "./describe-check.ts";
import { CORE, type Culprit, createFailures, ENGINE, type Failures, isCore } from "./failures.ts";
import { spawnEngine } from "./launch.ts";
import { createMask, type Mask } from "./masking.ts";
import { EngineUnavailable } from "./model.ts";
import type { PoolParts } from "./pool-parts.ts";
import { type End, EngineProcess } from "./process.ts";
import { type Asker, type Job, Queue } from "./queue.ts";
import { followStderr } from "./stderr.ts";

/** Processes of one engine with one configuration. While realms' calls keep all busy, the core gets one more. Design: §8 */
const MAX_PROCESSES = 4;

/** Processes of an engine that only computes: more of them than processors would only compete. */
const MAX_COMPUTING = Math.min(MAX_PROCESSES, availableParallelism());

const DESCRIBE = writeRequest({ method: "describe", params: {} });

/** Seat of an idle process: `give` passes a call, or none to end it; `lose` reports that it is lost. */
interface Seat {
	give(job: Job | undefined): void;
	lose(): void;
}

/**
 * The processes of one engine with one configuration. Each has one request at a time, and a second one starts only when the first is busy.
 * Between two calls a process answers `describe` again: that proves that it lives, and that its next line belongs to the next request, which
 * the line itself does not tell.
 */
export class Pool {
	readonly #parts: PoolParts;
	readonly #mask: Mask;
	/** Masks even short secrets, for errors that go to callers. */
	readonly #maskError: Mask;
	readonly #failures: Failures;
	/** Maximum of processes. */
	readonly #most: number;
	readonly #queue = new Queue();
	/** Every process not gone yet, with its life. */
	readonly #processes = new Map<EngineProcess, Promise<void>>();
	/** Processes that will soon take a call: they are starting, or proving that they are in step. */
	readonly #coming = new Set<EngineProcess>();
	/** Processes that wait for a call, the last used one at the end. */
	readonly #idle = new Map<EngineProcess, Seat>();
	#lastFailure: { reason: string; at_ms: number } | undefined;
	#timer: NodeJS.Timeout | undefined;
	#isWarm: boolean = false;
	/** True if the engine exits after each answer, so its processes get no `describe`. */
	#isOneShot: boolean = false;
	/** Reason why the pool takes no more calls. */
	#closed: string | undefined;

	constructor(parts: PoolParts) {
		this.#parts = parts;
		this.#mask = createMask(parts.settings.secrets);
		this.#maskError = createMask(parts.settings.secrets, 1);
		this.#failures = createFailures(parts.timing, parts.system);
		this.#most = parts.entry.is_restricted && !parts.entry.network ? MAX_COMPUTING : MAX_PROCESSES;
	}

	/** State of its processes and calls: `waiting` counts the calls of the realm that has most, `at_ms` is by the monotonic clock. */
	get state() {
		return {
			processes: this.#processes.size,
			waiting: this.#queue.fullest,
			isOpen: this.#failures.isOpen(),
			refused: this.#failures.refused(),
			lastFailure: this.#lastFailure,
		};
	}

	/**
	 * Sends a request; any but `generate` a second time, to a fresh process, when the first died or was killed over it. Secrets in errors are masked.
	 * @param of the realm whose member asks, or that the core asks for; no failures keep the core from asking
	 * @param payer the account that a member's call counts against
	 * @throws EngineUnavailable
	 */
	async call(method: Method, params: Fields, of: Culprit = CORE, payer?: string): Promise<EngineResponse> {
		releaseSlot();
		const line = writeRequest({ method, params });
		if (line.length - 1 > MAX_REQUEST_BYTES)
			throw new EngineUnavailable(`the request is longer than ${MAX_REQUEST_BYTES} bytes`, false);
		const response = await this.#send(line, of, payer).catch((error: unknown) => {
			const mayRepeat = method !== "generate" && error instanceof EngineUnavailable && error.sent;
			if (mayRepeat) return this.#send(line, of, payer);
			throw error;
		});
		return "error" in response ? { error: this.#maskError(response.error) } : response;
	}

	/** Sends a request to one process, once. */
	async #send(line: Buffer, of: Culprit, payer: string | undefined): Promise<EngineResponse> {
		const refusal = this.#closed ?? this.#refusalOf(payer) ?? this.#failures.refusal(of);
		if (refusal !== undefined) throw new EngineUnavailable(refusal, false);
		if (!this.#queue.hasRoom(of)) throw this.#parts.refuse("too many requests are waiting for it");
		const { promise, resolve, reject } = Promise.withResolvers<EngineResponse>();
		const timer = setTimeout(() => this.#giveUp(job), this.#parts.timing.queue_ms);
		const job: Job = { line, of, payer, resolve, reject, timer };
		this.#queue.add(job);
		this.#advance();
		return promise;
	}

	/** Takes no more calls. A process ends after its current call. Resolves when all are gone. */
	async retire(reason: string): Promise<void> {
		this.#close(reason);
		await Promise.all(this.#processes.values());
	}

	/** Takes no more calls, and ends the processes in order. Answers that still come are delivered. */
	async close(reason: string): Promise<void> {
		this.#close(reason);
		await Promise.all([...this.#processes].flatMap(([process, life]) => [process.end(), life]));
	}

	#close(reason: string): void {
		this.#closed ??= reason;
		clearTimeout(this.#timer);
		this.#refuseWaiting(this.#closed);
		for (const seat of [...this.#idle.values()]) seat.give(undefined);
	}

	#giveUp(job: Job): void {
		this.#queue.remove(job);
		job.reject(this.#parts.refuse(`no process was free within ${this.#parts.timing.queue_ms / 1000} s`));
	}

	#refusalOf(payer: string | undefined): string | undefined {
		const { entry, payer_failures } = this.#parts;
		return payer === undefined ? undefined : payer_failures.refusal(entry.type, payer);
	}

	/** @param isMeant selects the calls; by default all */
	#refuseWaiting(reason: string, isMeant = (_: Asker) => true): void {
		for (const job of this.#queue.jobs.filter(isMeant)) {
			this.#queue.remove(job);
			clearTimeout(job.timer);
			job.reject(new EngineUnavailable(reason, false));
		}
	}

	/** Gives waiting calls to idle processes, and starts processes for the rest. */
	#advance(): void {
		const pause = (of: Culprit) => this.#failures.pause(of);
		while (this.#idle.size > 0 && this.#queue.size > 0) {
			const job = this.#queue.take(pause);
			clearTimeout(job?.timer);
			[...this.#idle.values()].at(-1)?.give(job);
		}
		clearTimeout(this.#timer);
		while (this.#queue.size > this.#coming.size && this.#hasRoom()) {
			const waiting = this.#queue.jobs.map(({ of }) => ({ of, pause_ms: pause(of) }));
			const ready = waiting.filter(({ pause_ms }) => pause_ms === 0);
			if (ready.length > this.#coming.size) {
				if (!ready.every(({ of }) => isCore(of))) this.#failures.started();
				this.#start();
				continue;
			}
			const next_ms = Math.min(...waiting.map(({ pause_ms }) => pause_ms).filter((pause_ms) => pause_ms > 0));
			if (next_ms < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.#advance(), next_ms);
			return;
		}
	}

	/** Tells whether one more process may start. */
	#hasRoom(): boolean {
		const { size } = this.#processes;
		return size < this.#most || (size === this.#most && this.#queue.jobs.some(({ of }) => isCore(of)));
	}

	#start(): void {
		const { entry, settings, cwd, log, timing } = this.#parts;
		const child = spawnEngine(entry.launch(settings.reads), settings.environment, cwd);
		const stderr = followStderr(child.stderr, { engine: entry.type, log, mask: this.#mask });
		const process = new EngineProcess({ child, stderr, timing, onLost: () => this.#idle.get(process)?.lose() });
		this.#coming.add(process);
		// A starting process takes its place in the pool immediately, before it can take calls.
		this.#processes.set(
			process,
			Promise.resolve().then(() => this.#live(process)),
		);
	}

	/** Runs the life of a process, from its start until it is gone. */
	async #live(process: EngineProcess): Promise<void> {
		const { entry, timing } = this.#parts;
		const isOneShot = this.#isOneShot;
		const deadline_ms = entry.network ? timing.network_call_ms : timing.call_ms;
		let owed: Job | undefined;
		// An engine may fail a moment after its answer.
		let last: Asker = { of: ENGINE, payer: undefined };
		try {
			if (!isOneShot) await this.#checkDescribe(process);
			while (this.#closed === undefined) {
				if (!(isOneShot || entry.is_restricted)) await this.#keepInStep(process);
				owed = await this.#nextJob(process);
				if (owed === undefined) break;
				last = owed;
				owed.resolve(await process.ask(owed.line, deadline_ms));
				owed = undefined;
				this.#failures.succeeded(last.of);
				if (isOneShot) break;
				this.#coming.add(process);
			}
			await process.end();
		} catch (error) {
			if (owed !== undefined)
				this.#noteFailure(last, error instanceof EngineUnavailable ? error.reason : "it cannot be used");
			owed?.reject(error);
			process.kill("it cannot be used");
			if (owed === undefined) this.#learn(last, process, await process.ended);
		}
		this.#coming.delete(process);
		this.#processes.delete(process);
		if (this.#closed === undefined) this.#advance();
	}

	/** @throws EngineUnavailable when it contradicts its descriptor */
	async #checkDescribe(process: EngineProcess): Promise<void> {
		const { entry, core_version, timing, onRefused } = this.#parts;
		const response = await process.ask(DESCRIBE, this.#isWarm ? timing.start_ms : timing.cold_start_ms);
		const fault = faultOfDescribe(entry.descriptor, response, core_version);
		if (fault !== undefined) {
			process.kill(fault);
			// An error may come from the configuration; a contradicting answer comes from the program.
			if ("data" in response) onRefused(fault);
			throw new EngineUnavailable(fault, false);
		}
		this.#isWarm = true;
	}

	/** @throws EngineUnavailable when its answer differs from before */
	async #keepInStep(process: EngineProcess): Promise<void> {
		const { entry, core_version, timing } = this.#parts;
		const response = await process.ask(DESCRIBE, timing.start_ms);
		if (faultOfDescribe(entry.descriptor, response, core_version) === undefined) return;
		const fault = "its answer to describe has changed: its answers are out of step with the requests";
		process.kill(fault);
		throw new EngineUnavailable(fault, false);
	}

	/** @throws EngineUnavailable when the process is lost meanwhile */
	#nextJob(process: EngineProcess): Promise<Job | undefined> {
		this.#coming.delete(process);
		if (this.#closed !== undefined) return Promise.resolve(undefined);
		const { promise, resolve, reject } = Promise.withResolvers<Job | undefined>();
		const leave = () => {
			clearTimeout(timer);
			this.#idle.delete(process);
		};
		const seat: Seat = {
			give(job) {
				leave();
				resolve(job);
			},
			lose() {
				leave();
				reject(new EngineUnavailable("the process was lost", false));
			},
		};
		const timer = setTimeout(() => seat.give(undefined), this.#parts.timing.idle_ms).unref();
		this.#idle.set(process, seat);
		this.#advance();
		return promise;
	}

	/** Learns from the end of a process that owed no answer. A process that ended well is replaced when the next call comes. */
	#learn(of: Asker, { answers }: EngineProcess, { status, reason }: End): void {
		if (this.#closed !== undefined) return;
		if (status === 0 && answers > 0) this.#isOneShot ||= answers === 1;
		else this.#noteFailure(of, reason);
		// The next process would fail like one that never answered.
		if (answers === 0 && this.#processes.size === 1) this.#refuseWaiting(reason);
	}

	#noteFailure({ of, payer }: Asker, reason: string): void {
		const { entry, log, payer_failures } = this.#parts;
		log("warn", "engine.failed", { engine: entry.type, message: reason });
		this.#lastFailure = { reason, at_ms: performance.now() };
		if (payer !== undefined && payer_failures.failed(entry.type, payer)) {
			log("error", "engine.breaker.open", { engine: entry.type, user_id: payer, message: reason });
			this.#refuseWaiting(reason, (waiting) => waiting.payer === payer);
		}
		if (!this.#failures.failed(of, reason)) return;
		const realm = of === ENGINE ? {} : { realm_id: of };
		log("error", "engine.breaker.open", { engine: entry.type, ...realm, message: reason });
		this.#refuseWaiting(reason, (waiting) => of === ENGINE || waiting.of === of);
	}
}
