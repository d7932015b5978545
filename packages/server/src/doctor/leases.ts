import type { EngineState } from "../engines/host/model.ts";
import type { TargetState } from "../leases/model.ts";
import type { System } from "../system.ts";
import { type Check, ok } from "./model.ts";

/** Dependencies of examining engines and leases. */
export interface LeaseNeeds {
	system: Pick<System, "now">;
	clock: { now(): number; lastJump(): { at: string; ahead_ms: number } | undefined };
	host: { state(): EngineState[] };
	reaper: {
		targets(): { target: string; state: TargetState; since: string; message: string }[];
		lateness(): { overdue: number; stuck: number };
	};
}

/** Seconds that the wall clock may lag behind the lease clock: it is set back a little now and then. */
const BEHIND_SECONDS = 10;

/** Checks whether the wall clock jumped ahead or was set back. */
export function checkClock({ clock, system }: LeaseNeeds): Check[] {
	const name = "clock";
	const hint = "check the machine's clock with `timedatectl`: tokens, certificates and leases expire by it";
	const jump = clock.lastJump();
	if (jump !== undefined) {
		const message = `the clock jumped ${Math.round(jump.ahead_ms / 1000)} seconds ahead at ${jump.at}`;
		return [{ name, status: "warning", message, hint }];
	}
	const behind = Math.round((clock.now() - system.now().getTime()) / 1000);
	if (behind <= BEHIND_SECONDS) return [ok(name, "the clock runs steadily")];
	const message = `the clock was set back: it is ${behind} seconds behind the latest time that it has shown`;
	return [{ name, status: "failed", message, hint }];
}

/** Checks that every engine can be asked. */
export function checkEngines({ host }: LeaseNeeds): Check[] {
	const engines = host.state();
	const checks = engines.flatMap(({ type, unavailable, breaker, refused_realms, last_failure }): Check[] => {
		if (unavailable !== undefined)
			return [{ name: type, status: "failed", message: `it is not used: ${unavailable}`, hint: installHint(type) }];
		const last = last_failure ?? "it did not start";
		const hint = `run \`svc engine ping ${type}\` and see the server's log`;
		if (breaker === "open")
			return [
				{
					name: type,
					status: "failed",
					message: `it failed so often that it is tried only occasionally: ${last}`,
					hint,
				},
			];
		if (refused_realms === 0) return [];
		const message = `it failed so often for ${refused_realms} realms that it does not serve these for now: ${last}`;
		return [{ name: type, status: "warning", message, hint: `${hint}: the event engine.breaker.open names the realm` }];
	});
	return checks.length > 0 ? checks : [ok("engines", `all ${engines.length} are available`)];
}

function installHint(type: string): string {
	return `fix it and install it again with \`svc engine install\`, or remove the folder ${type} from plugins_dir; then restart the server`;
}

/** Checks that no lease is late to end. */
export function checkLeases({ reaper }: LeaseNeeds): Check[] {
	const name = "leases";
	const { overdue, stuck } = reaper.lateness();
	const hint = "`svc lease list --all-realms --state revoking` lists them";
	const waiting = reaper
		.targets()
		.filter(({ state }) => state !== "healthy")
		.map(({ target, state, since, message }): Check => {
			const what = `${target} is ${state} since ${since}`;
			return { name, status: "warning", message: message === "" ? what : `${what}: ${message}`, hint };
		});
	if (stuck > 0)
		return [{ name, status: "failed", message: `${stuck} are more than 15 minutes overdue`, hint }, ...waiting];
	if (overdue > 0)
		return [
			{
				name,
				status: "warning",
				message: `${overdue === 1 ? "1 is" : `${overdue} are`} more than a minute overdue`,
				hint,
			},
			...waiting,
		];
	return waiting.length > 0 ? waiting : [ok(name, "none is overdue")];
}
