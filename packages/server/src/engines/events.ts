import type { Method } from "@svc/protocol";
import { type EventData, eventBy, noteBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmAccess } from "../realms/model.ts";
import type { Caller, EngineNeeds } from "./engines.ts";
import { EngineUnavailable } from "./host/model.ts";
import { TargetError } from "./kinds/connector.ts";
import { ForbiddenCommand } from "./kinds/managed-user.ts";

type EngineEvent = "engine.generate" | "engine.validate" | "engine.error";

type EventNeeds = Pick<EngineNeeds, "store" | "system">;

/** Logs the use of an engine, before the answer goes to a caller who may still have it. Design: §10 */
export async function logEngine(needs: EventNeeds, caller: Caller, type: EngineEvent, facts: EventData): Promise<void> {
	const { actor, realm, engine } = caller;
	await logEngineOf(needs, { actor, realm, type: engine.entry.type }, type, facts);
}

/** Logs that somebody wanted to use an engine of that type. */
export async function logEngineOf(
	{ store: { audit }, system }: EventNeeds,
	{ actor, realm, type: engine }: { actor: Actor; realm: RealmAccess; type: string },
	type: EngineEvent,
	facts: EventData,
): Promise<void> {
	const about = [actor, system.now(), type, realm, { engine, ...facts }] as const;
	// What failed has already happened.
	await (type === "engine.error" ? audit.append(noteBy(...about)) : audit.record(eventBy(...about)));
}

/**
 * Turns an error on the way to an engine or a target into the answer, and logs it.
 * @throws AppError always: engine_unavailable, or engine_error when the engine or the target answered with an error
 */
export async function fail(needs: EventNeeds, caller: Caller, method: Method, error: unknown): Promise<never> {
	const answer = translate(caller.engine.entry.type, error);
	if (answer === undefined) throw error;
	await logEngine(needs, caller, "engine.error", { method, code: answer.code });
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
