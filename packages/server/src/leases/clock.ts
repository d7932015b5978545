import { type AuditStore, systemEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { System } from "../system.ts";
import type { ClockMark, LeaseStore } from "./model.ts";

/** Dependencies of the lease clock. */
export interface ClockNeeds {
	store: {
		leases: Pick<LeaseStore, "clock" | "saveClock">;
		audit: Pick<AuditStore, "append">;
		/** Reads the store's own clock, in Unix milliseconds; undefined where that of this machine counts. */
		time: (() => Promise<number>) | undefined;
	};
	system: Pick<System, "now" | "uptimeMs" | "bootId">;
	log: Log;
}

/** A jump of the wall clock ahead of the time that has passed. */
interface ClockJump {
	/** Time at which it was noticed, ISO 8601 UTC by the clock that jumped. */
	at: string;
	/** Milliseconds by which it jumped. */
	ahead_ms: number;
	/** True while revocations by expiry still wait because of it. */
	is_holding: boolean;
}

/**
 * The clock by which leases end: Unix milliseconds that neither stop nor go back. It advances with the machine's uptime and catches up with
 * the wall clock whenever that is ahead, so setting the wall clock back never prolongs a lease. Design: §9
 */
export interface LeaseClock {
	/** Milliseconds. */
	now(): number;
	/** Saves the clock when that is due, and reports a jump. Call it about every second. */
	tick(): Promise<void>;
	/**
	 * Tells whether a lease that is due since then may be revoked for its expiry now; each yes is valid for one lease. Leases that only a jump
	 * made due wait for a minute and then pass at 100 a second, so that a wrong clock does not silently end everything.
	 */
	admits(due_at: number): boolean;
	/** Milliseconds of the lease clock: no jump holds leases that became due then or later. */
	heldUntil(): number;
	/** The last jump since the server started. */
	lastJump(): ClockJump | undefined;
}

/** Milliseconds between two saves. */
const SAVE_MS = 10_000;

/** Milliseconds: a bigger raise is saved with the next tick, because new leases count from it. */
const RAISE_MS = 1000;

/** Milliseconds: a wall clock that leaps further ahead was set, not corrected. */
const JUMP_MS = 5 * 60 * 1000;

/** Milliseconds for which revocations by expiry wait after a jump, and the number admitted each second from then on. */
const HOLD_MS = 60_000;
const ADMITTED_A_SECOND = 100;

interface Jump {
	at: string;
	ahead_ms: number;
	/** Milliseconds of the lease clock: the jump did not affect leases that are due later. */
	until_ms: number;
	/** The offset without the jump. */
	steady_offset: number;
	/** Uptime until which revocations by expiry wait. */
	held_until: number;
}

interface State {
	/** Milliseconds of the lease clock when the machine started: its uptime is added. */
	offset: number;
	/** Uptime at the last save; undefined when the clock must be saved immediately. */
	saved_at: number | undefined;
	jump: Jump | undefined;
	is_reported: boolean;
	/** Uptime at which the current second of admissions began, and the number admitted in it. */
	second: { began_at: number; admitted: number };
}

/** Resumes the clock from its last save, saves it, and notices a jump while the server was not running. */
export async function openLeaseClock(needs: ClockNeeds): Promise<LeaseClock> {
	const clock = await resumeLeaseClock(needs);
	await clock.tick();
	return clock;
}

/** Resumes the clock from its last save. Call `tick` next, which notices a jump while the server was not running. */
export async function resumeLeaseClock(needs: ClockNeeds): Promise<LeaseClock> {
	const wall = await openWall(needs);
	const system = { ...needs.system, now: wall.now };
	const state: State = {
		offset: startOffset(system, await needs.store.leases.clock()),
		saved_at: undefined,
		jump: undefined,
		is_reported: true,
		second: { began_at: 0, admitted: 0 },
	};
	return {
		now: () => read(system, state),
		async tick() {
			await wall.look();
			read(system, state);
			await Promise.all([report(needs, state), save(needs, state)]);
		},
		admits: (due_at) => admits(system, state, due_at),
		heldUntil: () => state.jump?.until_ms ?? 0,
		lastJump() {
			if (state.jump === undefined) return undefined;
			const { at, ahead_ms, held_until } = state.jump;
			return { at, ahead_ms, is_holding: system.uptimeMs() < held_until };
		},
	};
}

/**
 * Opens the wall clock that judges leases: the store's, where several servers share it, or each would end them by its own. Between two looks it advances
 * with this machine's uptime.
 */
async function openWall({ store: { time }, system }: ClockNeeds): Promise<{ now(): Date; look(): Promise<void> }> {
	if (time === undefined) return { now: system.now, look: async () => undefined };
	let started_ms = 0;
	const look = async () => {
		const read_ms = await time();
		// The time that the answer took is left out: the clock is never ahead of the store's.
		started_ms = read_ms - system.uptimeMs();
	};
	await look();
	return { now: () => new Date(started_ms + system.uptimeMs()), look };
}

/**
 * Calculates the offset at start. Within one boot the uptime tells how much time has passed. After a reboot only the wall clock can, and the
 * time it adds is no jump: the uptime may be that of a host which has run for months, under a container that just started or moved there.
 */
function startOffset(system: ClockNeeds["system"], mark: ClockMark | undefined): number {
	const uptime_ms = system.uptimeMs();
	const wall = system.now().getTime() - uptime_ms;
	if (mark === undefined) return wall;
	const boot_id = system.bootId();
	const isSameBoot = boot_id !== "" && mark.boot_id === boot_id && mark.uptime_ms <= uptime_ms;
	return isSameBoot ? mark.lease_ms - mark.uptime_ms : Math.max(mark.lease_ms - uptime_ms, wall);
}

function read(system: ClockNeeds["system"], state: State): number {
	const now = system.now();
	const uptime_ms = system.uptimeMs();
	const ahead_ms = now.getTime() - uptime_ms - state.offset;
	if (ahead_ms > JUMP_MS) {
		state.jump = {
			at: now.toISOString(),
			ahead_ms,
			until_ms: now.getTime(),
			// The first of several jumps counts: the leases that it made due must not pass with the second.
			steady_offset: state.jump?.steady_offset ?? state.offset,
			held_until: uptime_ms + HOLD_MS,
		};
		state.is_reported = false;
	}
	if (ahead_ms > RAISE_MS) state.saved_at = undefined;
	state.offset += Math.max(0, ahead_ms);
	return uptime_ms + state.offset;
}

function admits(system: ClockNeeds["system"], state: State, due_at: number): boolean {
	read(system, state);
	const { jump, second } = state;
	const uptime_ms = system.uptimeMs();
	if (jump === undefined || due_at > jump.until_ms || due_at <= uptime_ms + jump.steady_offset) return true;
	if (uptime_ms < jump.held_until) return false;
	if (uptime_ms - second.began_at >= 1000) {
		second.began_at = uptime_ms;
		second.admitted = 0;
	}
	if (second.admitted === ADMITTED_A_SECOND) return false;
	second.admitted++;
	return true;
}

async function save({ store, system }: ClockNeeds, state: State): Promise<void> {
	const uptime_ms = system.uptimeMs();
	if (state.saved_at !== undefined && uptime_ms - state.saved_at < SAVE_MS) return;
	state.saved_at = uptime_ms;
	try {
		await store.leases.saveClock({ lease_ms: uptime_ms + state.offset, uptime_ms, boot_id: system.bootId() });
	} catch (error) {
		state.saved_at = undefined;
		throw error;
	}
}

async function report({ store, system, log }: ClockNeeds, state: State): Promise<void> {
	if (state.jump === undefined || state.is_reported) return;
	state.is_reported = true;
	const { ahead_ms } = state.jump;
	log("error", "clock.jump", {
		message: `the clock jumped ${Math.round(ahead_ms / 1000)} seconds ahead: leases that this ends are revoked slowly, after a minute; check the clock`,
	});
	try {
		await store.audit.append(systemEvent(system.now(), "clock.jump", undefined, { ahead_ms }));
	} catch (error) {
		state.is_reported = false;
		throw error;
	}
}
