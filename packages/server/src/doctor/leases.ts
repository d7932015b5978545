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
export function lookAtClock({ clock, system }: LeaseNeeds): Check[] {
	const name = "clock";
	const hint = "see that the machine keeps its time (`timedatectl`): tokens, certificates and leases end by it";
	const jump = clock.lastJump();
	if (jump !== undefined) {
		const message = `the clock jumped ${Math.round(jump.ahead_ms / 1000)} seconds ahead at ${jump.at}`;
		return [{ name, status: "warning", message, hint }];
	}
	const behind = Math.round((clock.now() - system.now().getTime()) / 1000);
	if (behind <= BEHIND_SECONDS) return [ok(name, "the clock runs steadily")];
	const message = `the clock is ${behind} seconds behind the time that it has shown before: it was set back`;
	return [{ name, status: "failed", message, hint }];
}

/** Checks that every engine can be asked. */
export function lookAtEngines({ host }: LeaseNeeds): Check[] {
	const engines = host.state();
	const checks = engines.flatMap(({ type, unavailable, breaker, refused_realms, last_failure }): Check[] => {
		if (unavailable !== undefined)
			return [{ name: type, status: "failed", message: `it is not used: ${unavailable}`, hint: installHint(type) }];
		const last = last_failure ?? "it did not start";
		const hint = `\`svc engine ping ${type}\`, and the server's log`;
		if (breaker === "open")
			return [
				{
					name: type,
					status: "failed",
					message: `it failed so often that it is asked only now and then: ${last}`,
					hint,
				},
			];
		if (refused_realms === 0) return [];
		const message = `requests of ${refused_realms} realms made it fail so often that it is not asked for these: ${last}`;
		return [{ name: type, status: "warning", message, hint: `${hint}: engine.breaker.open names the realm` }];
	});
	return checks.length > 0 ? checks : [ok("engines", `all ${engines.length} can be asked`)];
}

function installHint(type: string): string {
	return `mend it and install it again with \`svc engine install\`, or remove the folder ${type} of plugins_dir; then restart the server`;
}

/** Checks that no lease is late to end. */
export function lookAtLeases({ reaper }: LeaseNeeds): Check[] {
	const name = "leases";
	const { overdue, stuck } = reaper.lateness();
	const hint = "`svc lease list --all-realms --state revoking` shows which they are";
	const waiting = reaper
		.targets()
		.filter(({ state }) => state !== "healthy")
		.map(({ target, state, since, message }): Check => {
			const what = `${target} is ${state} since ${since}`;
			return { name, status: "warning", message: message === "" ? what : `${what}: ${message}`, hint };
		});
	if (stuck > 0)
		return [
			{ name, status: "failed", message: `${stuck} are more than a quarter of an hour late to end`, hint },
			...waiting,
		];
	if (overdue > 0)
		return [{ name, status: "warning", message: `${overdue} are more than a minute late to end`, hint }, ...waiting];
	return waiting.length > 0 ? waiting : [ok(name, "none is late to end")];
}
