import { describeData, type EngineResponse, type Fields, type Method } from "@svc/protocol";
import { type AuditStore, type EventData, eventBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { LeaseClock } from "../leases/clock.ts";
import type { LeaseStore } from "../leases/model.ts";
import type { Pause } from "../leases/pause.ts";
import type { Reaper } from "../leases/reaper.ts";
import { type AccessNeeds, authorize, type RefusalNeeds, requireWithinLimits } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmAccess, RealmStore } from "../realms/model.ts";
import type { System } from "../system.ts";
import { capabilityFor } from "./config/fields.ts";
import type { ConfigSealer } from "./config/sealed-config.ts";
import type { Catalog } from "./host/catalog.ts";
import { type EngineHost, EngineUnavailable } from "./host/host.ts";
import { ForbiddenCommand } from "./kinds/commands.ts";
import { TargetError } from "./kinds/connector.ts";
import type { EngineStore } from "./model.ts";
import type { ReadyEngine } from "./ready.ts";
import type { Runtime } from "./runtime.ts";

/** What the rules of engines need. */
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
	pause: Pick<Pause, "isPaused">;
}

/** An engine as it is listed. Spec: API › Resources and their fields */
export interface EngineInfo {
	type: string;
	description: string;
	capabilities: string[];
}

/**
 * Every engine that can be used, configured or not. Why one cannot be, the server's health tells.
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

/** A member of a realm, and the engine that this realm meets. */
export interface Caller {
	realm: RealmAccess;
	engine: ReadyEngine;
}

/**
 * Lets a member of a realm to an engine, as far as anybody who may use it at all.
 * @throws AppError not_found (realm, engine type), engine_not_configured, engine_unavailable
 */
export async function admit(
	needs: EngineNeeds,
	actor: Actor,
	slug: string,
	type: string,
	method: Method,
): Promise<Caller> {
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", engine: type });
	try {
		return { realm, engine: await needs.runtime.forRealm(type, realm.id) };
	} catch (error) {
		if (error instanceof AppError && error.code !== "not_found")
			await append(needs, actor, realm, "engine.error", { engine: type, method, code: error.code });
		throw error;
	}
}

/** Lets a member use a role of an engine. @throws AppError forbidden, insufficient_scope. Design: §8, §13 */
export async function authorizeRole(
	needs: EngineNeeds,
	actor: Actor,
	{ realm, engine }: Caller,
	role: string | undefined,
): Promise<void> {
	const { entry, config } = engine;
	const engine_role = { engine: entry.type, role };
	if (entry.type === "totp") return requireWithinLimits(needs, actor, "engines", engine_role);
	const capability = capabilityFor(entry, config.fields, role);
	const scope = capability === "secrets:read" ? "read" : "write";
	await authorize(needs, actor, realm.slug, { capability, scope, ...engine_role });
}

/** Makes the function that says whether an engine that can be used has that role: `type:role`, or the type alone where there are none. */
export function createRoleCheck(engines: Pick<EngineNeeds, "catalog">): (name: string) => boolean {
	return (name) =>
		engines.catalog.list().some(({ type, descriptor: { default_roles }, unavailable }) => {
			const names = default_roles.length === 0 ? [type] : default_roles.map((role) => `${type}:${role.name}`);
			return unavailable === undefined && names.includes(name);
		});
}

/**
 * Asks an engine. What goes wrong is in the log before it is answered.
 * @throws AppError engine_error with the engine's own words, engine_unavailable
 * Design: §8
 */
export async function ask(
	needs: EngineNeeds,
	actor: Actor,
	caller: Caller,
	method: Method,
	params: Fields,
): Promise<Fields> {
	const answer = await caller.engine
		.call(method, params, caller.realm.id)
		.catch((error) => fail(needs, actor, caller, method, error));
	return read(needs, actor, caller, method, answer);
}

/** An engine's data, or its error as an exception. @throws AppError engine_error */
async function read(
	needs: EngineNeeds,
	actor: Actor,
	caller: Caller,
	method: Method,
	answer: EngineResponse,
): Promise<Fields> {
	if ("data" in answer) return answer.data;
	await logEngine(needs, actor, caller, "engine.error", { method, code: "engine_error" });
	throw new AppError("engine_error", answer.error);
}

/**
 * Turns what went wrong on the way to an engine or a target into the answer, and writes it to the log.
 * @throws AppError always: engine_unavailable, or engine_error when the target answered with an error
 */
export async function fail(
	needs: EngineNeeds,
	actor: Actor,
	caller: Caller,
	method: Method,
	error: unknown,
): Promise<never> {
	const answer = translate(caller.engine.entry.type, error);
	if (answer === undefined) throw error;
	await logEngine(needs, actor, caller, "engine.error", { method, code: answer.code });
	throw answer;
}

function translate(type: string, error: unknown): AppError | undefined {
	if (error instanceof EngineUnavailable) {
		return new AppError("engine_unavailable", `engine ${type} did not answer: ${error.reason}`);
	}
	if (error instanceof ForbiddenCommand) {
		return new AppError(
			"engine_unavailable",
			`engine ${type} answered with a command that is not allowed: ${error.message}`,
		);
	}
	if (error instanceof TargetError) {
		return new AppError(error.kind === "unreachable" ? "engine_unavailable" : "engine_error", error.message);
	}
	return undefined;
}

/** Writes to the log that an engine was used, before its answer is given to who may still have it. Design: §10 */
export async function logEngine(
	needs: EngineNeeds,
	actor: Actor,
	{ realm, engine }: Caller,
	type: "engine.generate" | "engine.validate" | "engine.error",
	facts: EventData,
): Promise<void> {
	await append(needs, actor, realm, type, { engine: engine.entry.type, ...facts });
}

async function append(
	{ store: { audit }, system }: EngineNeeds,
	actor: Actor,
	realm: RealmAccess,
	type: "engine.generate" | "engine.validate" | "engine.error",
	data: EventData,
): Promise<void> {
	const event = eventBy(actor, system.now(), type, realm, data);
	await (type === "engine.error" ? audit.append(event) : audit.record(event));
}
