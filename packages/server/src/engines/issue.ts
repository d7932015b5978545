import { type Fields, formatDuration, MAX_REQUEST_BYTES, parseDuration } from "@svc/protocol";
import { AppError } from "../errors.ts";
import { invalidTtl } from "../expiry.ts";
import type { Actor } from "../policy/model.ts";
import { admit, authorizeRole, memberOf } from "./authorize.ts";
import type { Caller, EngineNeeds } from "./engines.ts";
import { fail, logEngine } from "./events.ts";
import { type CatalogEntry, EngineUnavailable } from "./host/model.ts";
import { type Connector, type IssueRequest, TargetError } from "./kinds/connector.ts";
import { markAborted, markActive, markUncertain, recordIntent } from "./ledger.ts";
import type { ReadyEngine } from "./runtime.ts";

/** An engine's result, and the lease if it is a credential that ends. */
export interface Issued {
	data: Fields;
	lease_id: string | undefined;
}

/**
 * Lets an engine make a value or a credential. A credential is recorded before it exists.
 * @param given the engine's params
 * @param with_connection whether a credential comes with `connection`: connection details that its fields leave out
 * @throws AppError not_found (realm, engine type), forbidden, insufficient_scope, unsupported_operation, invalid_ttl, validation_failed,
 * payload_too_large, lease_limit_reached, conflict (leases are paused), engine_not_configured, engine_error, engine_unavailable,
 * rate_limited
 * Spec: API › Engines, ENGINES. Design: §8, §9
 */
export async function issue(
	needs: EngineNeeds,
	actor: Actor,
	slug: string,
	type: string,
	given: Fields,
	with_connection = false,
): Promise<Issued> {
	const caller = await admit(needs, actor, slug, type, "generate");
	const { entry, connector } = caller.engine;
	if (connector === undefined && !entry.descriptor.capabilities.includes("engine:secret_generation"))
		throw new AppError("unsupported_operation", "engine does not support generation");
	const own = ownParams(given);
	const role = roleOf(entry, own);
	await authorizeRole(needs, caller, role);
	const unknown = unknownRole(entry, own, role);
	if (unknown !== undefined) return fail(needs, caller, "generate", unknown);
	// An engine of ours refuses a role that is no text; another one might use a role that was not authorized.
	const params = entry.is_built_in ? own : { ...own, role };
	if (connector === undefined) return needs.calls.run(() => issueValue(needs, caller, params, role), actor);
	if (!needs.pause.hasEnded && (await needs.pause.isPaused())) throw new AppError("conflict", PAUSED);
	const request = requestOf(caller, params, role, with_connection);
	return needs.calls.run(() => issueCredential(needs, caller, connector, request), actor);
}

/** Bytes of a caller's params: the rest of an engine's line is for the core's additions. */
const MAX_PARAMS_BYTES = MAX_REQUEST_BYTES - 1024;

/**
 * Drops params that begin with an underscore: only the core sends those.
 * @throws AppError payload_too_large
 * Design: §9
 */
export function ownParams(given: Fields): Fields {
	const params = Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith("_")));
	if (Buffer.byteLength(JSON.stringify(params)) <= MAX_PARAMS_BYTES) return params;
	throw new AppError("payload_too_large", `the params must be at most ${MAX_PARAMS_BYTES} bytes`);
}

/** Characters recorded of a role's name: one more than a declared role can have, so that a cut name never equals a declared one. */
const MAX_ROLE_CHARACTERS = 101;

/** Reads the requested role, cut to length; without one, takes the engine's first role unless its kind requires a role. */
function roleOf({ kind, descriptor }: CatalogEntry, { role }: Fields): string | undefined {
	if (typeof role === "string" && role !== "") return role.slice(0, MAX_ROLE_CHARACTERS);
	return kind.requiresRole ? undefined : descriptor.default_roles[0]?.name;
}

/** Finds the fault of a role that a kind without a program does not declare: any other engine refuses such a role itself. */
function unknownRole(
	{ kind, descriptor }: CatalogEntry,
	{ role: given }: Fields,
	role?: string,
): TargetError | undefined {
	if (kind.descriptor === undefined) return undefined;
	const names = descriptor.default_roles.map(({ name }) => name);
	const isDeclared = role === undefined ? names.length === 0 : names.includes(role);
	if (isDeclared && typeof (given ?? "") === "string") return undefined;
	return new TargetError("rejected", `unknown role: valid roles are ${names.join(", ") || "none"}`);
}

async function issueValue(
	needs: EngineNeeds,
	caller: Caller,
	params: Fields,
	role: string | undefined,
): Promise<Issued> {
	const { engine } = caller;
	const data = await engine
		.ask("generate", params, memberOf(caller))
		.catch((error) => fail(needs, caller, "generate", error));
	await logEngine(needs, caller, "engine.generate", { role, ...engine.entry.kind.facts?.(data) });
	return { data, lease_id: undefined };
}

const PAUSED =
	"leases are paused after a restore, so no credential can be made: the instance admin must check `svc lease list`, then run `svc lease resume`";

/** Makes the request for a credential. @throws AppError invalid_ttl, validation_failed */
function requestOf(caller: Caller, given: Fields, role: string | undefined, with_connection: boolean): IssueRequest {
	const { engine } = caller;
	const { ttl_ms, ttl } = ttlOf(engine, given);
	const { params, scope } = engine.confine(given);
	return { role: role ?? "", params: { ...params, ttl }, scope, ttl_ms, with_connection, ...memberOf(caller) };
}

/** Shortest life of a credential. */
const MIN_TTL_MS = 1000;

/**
 * Finds the life of the requested credential: the caller's ttl, else the configuration's, within its max_ttl.
 * @returns milliseconds, and the text to send to the engine
 * @throws AppError invalid_ttl
 * Design: §8
 */
function ttlOf({ config, lives }: ReadyEngine, params: Fields): { ttl_ms: number; ttl: string } {
	const { usual_ms, max_ms } = lives;
	const isUsual = params.ttl === undefined || params.ttl === null;
	const ttl_ms = isUsual ? usual_ms : parseTtl(params.ttl);
	const ttl = isUsual ? formatDuration(usual_ms) : String(params.ttl);
	if (ttl_ms < MIN_TTL_MS) throw new AppError("invalid_ttl", "invalid ttl: it must be at least 1s");
	if (ttl_ms > max_ms)
		throw new AppError(
			"invalid_ttl",
			`ttl ${ttl} exceeds max ${String(config.fields.max_ttl ?? formatDuration(max_ms))}`,
		);
	return { ttl_ms, ttl };
}

function parseTtl(text: unknown): number {
	try {
		return parseDuration(text);
	} catch (error) {
		throw invalidTtl(error);
	}
}

/** Names tried until one is free. */
const MAX_NAMES = 3;

async function issueCredential(
	needs: EngineNeeds,
	caller: Caller,
	connector: Connector,
	request: IssueRequest,
): Promise<Issued> {
	for (let attempt = 0; attempt < MAX_NAMES; attempt++) {
		const issued = await issueUnderOneName(needs, caller, connector, request);
		if (issued !== undefined) return issued;
	}
	throw new AppError("engine_unavailable", "the engine generated names that are already taken: try again");
}

/** @returns undefined when the name is taken */
async function issueUnderOneName(
	needs: EngineNeeds,
	caller: Caller,
	connector: Connector,
	request: IssueRequest,
): Promise<Issued | undefined> {
	const draft = await connector.prepare(request).catch((error) => fail(needs, caller, "generate", error));
	if (draft === undefined) return undefined;
	try {
		const lease_id = await recordIntent(needs, caller, request, draft);
		if (lease_id === undefined) return undefined;
		const made = await draft.create(lease_id).catch((error) => giveUp(needs, caller, lease_id, error));
		await markActive(needs, caller, request, {
			lease_id,
			name: draft.name || (made.name ?? ""),
			expires_at: made.expires_at,
			payload: made.payload === undefined ? null : await needs.sealer.sealPayload(lease_id, made.payload),
			due_at: needs.clock.now() + (made.lives_ms ?? request.ttl_ms),
		});
		return { data: made.data, lease_id };
	} finally {
		draft.release?.();
	}
}

/** Gives up a create. Only a refusal may prove that nothing was made; after any other error the lease is uncertain. */
async function giveUp(needs: EngineNeeds, caller: Caller, lease_id: string, error: unknown): Promise<never> {
	const isSure = error instanceof EngineUnavailable ? !error.sent : error instanceof TargetError && error.made_nothing;
	if (isSure) await markAborted(needs, caller, lease_id);
	else await markUncertain(needs, lease_id, error instanceof Error ? error.message : "the create did not end");
	return fail(needs, caller, "generate", error);
}
