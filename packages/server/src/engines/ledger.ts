import { type Fields, formatDuration } from "@svc/protocol";
import { eventBy, makerOf, noteBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { NewLease } from "../leases/model.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor } from "../policy/model.ts";
import type { Caller, EngineNeeds } from "./engines.ts";
import { limitOf, realmLimitOf } from "./params.ts";

/** What an engine made, and the lease when it is a credential that ends. */
export interface Generated {
	data: Fields;
	lease_id: string | undefined;
}

/** A credential that is asked for: what both ways of making one begin with. */
export interface Wanted {
	caller: Caller;
	actor: Actor;
	params: Fields;
	role: string;
	/** Authentication database, namespace, or empty. */
	scope: string;
	ttl_ms: number;
	/** Whether the answer is to say, in `connection`, what else is needed to connect. */
	with_connection: boolean;
}

/** Names that are tried until one is free. */
export const MAX_NAMES = 3;

/** How long an answer may take until an intent is taken for forgotten. */
const INTENT_MS = 2 * 60 * 1000;

/**
 * Writes a credential down, before it exists.
 * @returns the lease's id, or undefined when somebody had the name
 * @throws AppError not_found (the realm is gone), lease_limit_reached, engine_unavailable (the configuration is gone), and as authorize when
 * the caller may not have it any more
 */
export async function recordIntent(
	needs: EngineNeeds,
	{ actor, caller, role, scope, ttl_ms }: Wanted,
	name: string,
	fence: string,
): Promise<string | undefined> {
	const { realm, engine } = caller;
	const now = needs.system.now();
	const lease: NewLease = {
		id: needs.system.uuid(),
		engine: engine.entry.type,
		target: engine.target,
		name,
		scope,
		realm_id: realm.id,
		realm: realm.slug,
		config_id: engine.config.id,
		config_realm_id: engine.config.realm_id,
		role,
		user_id: actor.user_id,
		due_at: needs.clock.now() + INTENT_MS,
		expires_at: new Date(now.getTime() + ttl_ms).toISOString(),
		fence,
		created_at: now.toISOString(),
	};
	const facts = {
		engine: lease.engine,
		role,
		lease_id: lease.id,
		name,
		scope,
		ttl: formatDuration(Math.floor(ttl_ms)),
	};
	const event = eventBy(actor, now, "engine.generate", realm, facts);
	const limit = limitOf(engine);
	const realm_limit = realmLimitOf(engine);
	const outcome = await needs.store.leases.begin(lease, limit, event, realm_limit);
	if (outcome === "realm_gone") throw realmNotFound();
	if (outcome === "config_gone") {
		throw new AppError("engine_unavailable", "the engine's configuration was replaced meanwhile: try again");
	}
	if (outcome === "realm_limit_reached") {
		throw new AppError(
			"lease_limit_reached",
			`${realm_limit} credentials of this engine are open in this realm, its max_connections_per_realm: revoke one with \`svc lease revoke\`, or wait`,
		);
	}
	if (outcome === "limit_reached") {
		throw new AppError(
			"lease_limit_reached",
			`${limit} credentials of this engine are open, its max_connections: revoke one with \`svc lease revoke\`, or wait`,
		);
	}
	return outcome === "done" ? lease.id : undefined;
}

/** What is known once a credential exists. */
export interface Made {
	lease_id: string;
	name: string;
	expires_at: string;
	/** When it is to be revoked, in milliseconds of the lease clock. */
	due_at: number;
	payload: Buffer | null;
}

/**
 * Writes down that a credential exists. Only then may anybody get it.
 * @throws AppError not_found when the realm was deleted meanwhile, engine_unavailable when the lease was given up meanwhile; the
 * credential is then taken back
 */
export async function markActive(
	needs: EngineNeeds,
	{ actor, caller, role, scope }: Wanted,
	made: Made,
): Promise<void> {
	const { lease_id: id, name, due_at, payload } = made;
	const expires_at = new Date(made.expires_at).toISOString();
	const facts = { lease_id: id, engine: caller.engine.entry.type, role, name, scope, expires_at };
	const event = noteBy(actor, needs.system.now(), "lease.created", caller.realm, facts);
	const made_by = makerOf(actor);
	const outcome = await needs.store.leases.activate({ id, name, expires_at, due_at, payload, made_by }, event);
	if (outcome === "done") return;
	needs.reaper.wake();
	if (outcome === "realm_gone") throw realmNotFound();
	throw new AppError(
		"engine_unavailable",
		"the credential was revoked while it was made, or took too long, and is taken back: try again",
	);
}

/** Notes that nobody knows whether a credential exists: the reaper finds out. */
export async function markUncertain(needs: EngineNeeds, lease_id: string, last_error: string): Promise<void> {
	await needs.store.leases.doubt({ id: lease_id, due_at: needs.clock.now(), last_error });
	needs.reaper.wake();
}

/** Notes that nothing was made. */
export async function markAborted(needs: EngineNeeds, { actor, caller }: Wanted, lease_id: string): Promise<void> {
	const now = needs.system.now();
	const facts = { lease_id, engine: caller.engine.entry.type };
	const event = noteBy(actor, now, "lease.aborted", caller.realm, facts);
	await needs.store.leases.abort({ id: lease_id, closed_at: now.toISOString() }, event);
}
