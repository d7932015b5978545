import { describeData } from "@svc/protocol";
import type { AuditStore } from "../audit/model.ts";
import type { LeaseClock } from "../leases/clock.ts";
import type { LeaseStore } from "../leases/model.ts";
import type { Pause } from "../leases/pause.ts";
import type { Reaper } from "../leases/reaper.ts";
import { type AccessNeeds, type RefusalNeeds, requireWithinLimits } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmAccess, RealmStore } from "../realms/model.ts";
import { type AccountSemaphore, createAccountSemaphore } from "../semaphore.ts";
import type { System } from "../system.ts";
import type { ConfigSealer } from "./config/sealed-config.ts";
import type { Catalog } from "./host/catalog.ts";
import type { EngineHost } from "./host/host.ts";
import type { EngineStore } from "./model.ts";
import type { ReadyEngine, Runtime } from "./runtime.ts";

/** Dependencies of the rules of engines. */
export interface EngineNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & {
		audit: AuditStore;
		engines: EngineStore;
		leases: LeaseStore;
		realms: Pick<RealmStore, "access" | "named">;
	};
	system: System;
	catalog: Catalog;
	host: Pick<EngineHost, "state">;
	runtime: Runtime;
	sealer: ConfigSealer;
	clock: LeaseClock;
	reaper: Pick<Reaper, "wake" | "revokeNow" | "reconsider">;
	pause: Pick<Pause, "hasEnded" | "isPaused">;
	calls: Pick<AccountSemaphore, "run">;
}

/** A member of a realm, and the engine that serves this realm. */
export interface Caller {
	actor: Actor;
	realm: RealmAccess;
	engine: ReadyEngine;
}

/** Makes the semaphore of engines' callers: anybody may own many realms, between which an engine divides its time. Design: §13 */
export function createEngineCalls(): AccountSemaphore {
	return createAccountSemaphore({
		name: "engine_calls_waiting_per_account",
		what: "calls of engines",
		each: 16,
		waiting: 256,
		hint: "one account calls engines faster than they answer: find the program that calls them",
	});
}

/** An engine in a list. Spec: API › Resources and their fields */
export interface EngineInfo {
	type: string;
	description: string;
	capabilities: string[];
}

/**
 * Lists every usable engine, configured or not. The server's health tells why others are not usable.
 * @throws AppError insufficient_scope
 * Spec: API › Engines
 */
export async function listEngines(
	needs: RefusalNeeds & Pick<EngineNeeds, "catalog" | "host">,
	actor: Actor,
): Promise<EngineInfo[]> {
	await requireWithinLimits(needs, actor, "engines");
	const { catalog, host } = needs;
	const states = host.state();
	return catalog
		.list()
		.filter((_, index) => states[index]?.unavailable === undefined)
		.map(({ type, descriptor }) => ({
			type,
			description: descriptor.description,
			capabilities: describeData(descriptor).capabilities,
		}));
}

/** Lists the roles of usable engines: `type:role`, or the type alone for an engine without roles. */
export function listRoles({ catalog }: Pick<EngineNeeds, "catalog">): string[] {
	const usable = catalog.list().filter(({ unavailable }) => unavailable === undefined);
	return usable.flatMap(({ type, descriptor: { default_roles } }) =>
		default_roles.length === 0 ? [type] : default_roles.map((role) => `${type}:${role.name}`),
	);
}

/** Makes the function that tells whether a usable engine has a role, named as in `listRoles`. */
export function createRoleCheck(engines: Pick<EngineNeeds, "catalog">): (name: string) => boolean {
	return (name) => listRoles(engines).includes(name);
}
