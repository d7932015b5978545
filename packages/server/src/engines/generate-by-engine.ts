import type { Fields } from "@svc/protocol";
import { AppError } from "../errors.ts";
import { type EngineNeeds, fail } from "./engines.ts";
import { EngineUnavailable } from "./host/host.ts";
import { TargetError } from "./kinds/connector.ts";
import {
	type Generated,
	MAX_NAMES,
	markAborted,
	markActive,
	markUncertain,
	recordIntent,
	type Wanted,
} from "./ledger.ts";
import { takesNames } from "./params.ts";

const NAME_BYTES = 4;

/**
 * Errors after which nothing exists: the params were refused, or the very first step was. A name that is taken is somebody else's, and
 * must not be deleted. What stands behind the first step's own status was said by others, or is of the clean-up.
 */
const NOTHING_MADE =
	/^(?:unknown role|invalid (?:ttl|params)|parsing params|ttl |creating service account: \S+ \S+: (?:status 4\d\d|no connection)\b)/;

/** Errors of containerorch whose API server gave no answer. */
const AWAY =
	/^(?:creating service account|creating role binding|requesting token): \S+ \S+: no (?:connection|answer)\b/;

/**
 * Makes a credential of an engine that does the work itself: the core chooses the name, writes it down, and hands both over with the
 * params. An engine that takes no name says afterwards what it made. Spec: ENGINES › containerorch operations. Design: §9
 */
export async function generateByEngine(needs: EngineNeeds, wanted: Wanted): Promise<Generated> {
	const { engine } = wanted.caller;
	for (let attempt = 0; attempt < MAX_NAMES; attempt++) {
		const name = takesNames(engine) ? `svc-${needs.system.randomBytes(NAME_BYTES).toString("hex")}` : "";
		const lease_id = await recordIntent(needs, wanted, name, "");
		if (lease_id !== undefined) return make(needs, wanted, name, lease_id);
	}
	throw new AppError("engine_unavailable", "every name that was tried is taken: try again");
}

async function make(needs: EngineNeeds, wanted: Wanted, name: string, lease_id: string): Promise<Generated> {
	const { caller, params, with_connection } = wanted;
	const { engine } = caller;
	const own = { _lease: { id: lease_id, name }, ...(with_connection ? { _connection: true } : {}) };
	const answer = await engine
		.call("generate", { ...params, ...own }, caller.realm.id)
		.catch((error) => unanswered(needs, wanted, lease_id, error));
	if ("error" in answer) return refused(needs, wanted, lease_id, answer.error);
	const { data } = answer;
	const usual_end = new Date(needs.system.now().getTime() + wanted.ttl_ms).toISOString();
	const made = readCredential(wanted, name, { expires_at: usual_end, ...data });
	if (made === undefined) {
		await markUncertain(needs, lease_id, "the engine answered with another credential than it was told to make");
		throw new AppError(
			"engine_unavailable",
			`engine ${engine.entry.type} answered with something else than a credential of that name`,
		);
	}
	const payload = engine.entry.is_built_in ? null : await needs.sealer.sealPayload(lease_id, data);
	const now_ms = needs.system.now().getTime();
	const due_at = needs.clock.now() + Math.max(0, Date.parse(made.expires_at) - now_ms);
	await markActive(needs, wanted, { lease_id, ...made, due_at, payload });
	return { data, lease_id };
}

async function unanswered(needs: EngineNeeds, wanted: Wanted, lease_id: string, error: unknown): Promise<never> {
	if (error instanceof EngineUnavailable && !error.sent) await markAborted(needs, wanted, lease_id);
	else
		await markUncertain(
			needs,
			lease_id,
			error instanceof EngineUnavailable ? error.reason : "the engine did not answer",
		);
	return fail(needs, wanted.actor, wanted.caller, "generate", error);
}

async function refused(needs: EngineNeeds, wanted: Wanted, lease_id: string, message: string): Promise<never> {
	if (NOTHING_MADE.test(message)) await markAborted(needs, wanted, lease_id);
	else await markUncertain(needs, lease_id, message.slice(0, 500));
	const trouble = new TargetError(AWAY.test(message) ? "unreachable" : "rejected", message);
	return fail(needs, wanted.actor, wanted.caller, "generate", trouble);
}

/** Name and end of what an engine made; undefined when it is not what was asked for. */
function readCredential(
	{ caller }: Wanted,
	name: string,
	data: Fields,
): { name: string; expires_at: string } | undefined {
	const said = [data.service_account, data.username, data.name].find((text) => typeof text === "string");
	if (name !== "" && said !== undefined && said !== name) return undefined;
	if (caller.engine.entry.is_built_in && said === undefined) return undefined;
	const { expires_at } = data;
	if (typeof expires_at !== "string" || Number.isNaN(Date.parse(expires_at))) return undefined;
	return { name: name || String(said ?? ""), expires_at };
}
