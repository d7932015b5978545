import { formatDuration } from "@svc/protocol";
import { eventBy, makerOf, noteBy } from "../audit/model.ts";
import { AppError, LimitReached } from "../errors.ts";
import { leaseEvent } from "../leases/events.ts";
import type { NewLease } from "../leases/model.ts";
import type { Log } from "../log.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Caller, EngineNeeds } from "./engines.ts";
import type { Draft, IssueRequest } from "./kinds/connector.ts";

/** Characters kept of an error. */
const MAX_ERROR_CHARACTERS = 500;

/** Milliseconds that an answer may take before an intent counts as forgotten. */
const INTENT_MS = 2 * 60 * 1000;

/**
 * Records a credential before it exists.
 * @returns the lease's id, or undefined when the name was taken
 * @throws AppError not_found (the realm is gone), lease_limit_reached, engine_unavailable (the configuration is gone), and like authorize
 * when the caller may not have it any more
 */
export async function recordIntent(
	needs: EngineNeeds,
	{ actor, realm, engine }: Caller,
	{ role, scope, ttl_ms }: IssueRequest,
	{ name, fence }: Pick<Draft, "name" | "fence">,
): Promise<string | undefined> {
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
	const { together, each_realm } = engine.limits;
	const outcome = await needs.store.leases.begin(lease, together, event, each_realm);
	if (outcome === "realm_gone") throw realmNotFound();
	if (outcome === "config_gone") {
		throw new AppError("engine_unavailable", "the engine's configuration changed during the request: try again");
	}
	if (outcome === "realm_limit_reached") {
		throw new LimitReached(
			"max_connections_per_realm",
			`this realm has ${each_realm} open credentials of this engine, its max_connections_per_realm: revoke one with \`svc lease revoke\`, or wait`,
			"lease_limit_reached",
		);
	}
	if (outcome === "limit_reached") {
		throw new LimitReached(
			"max_connections",
			`this engine has ${together} open credentials, its max_connections: revoke one with \`svc lease revoke\`, or wait`,
			"lease_limit_reached",
		);
	}
	return outcome === "done" ? lease.id : undefined;
}

/** Facts known once a credential exists. */
interface Made {
	lease_id: string;
	name: string;
	expires_at: string;
	/** Time of its revocation, in milliseconds of the lease clock. */
	due_at: number;
	payload: Buffer | null;
}

/**
 * Records that a credential exists. Only then may anybody get it.
 * @throws AppError not_found when the realm was deleted meanwhile, engine_unavailable when the lease was given up meanwhile; the
 * credential is then revoked
 */
export async function markActive(
	needs: EngineNeeds,
	{ actor, realm, engine }: Caller,
	{ role, scope }: IssueRequest,
	made: Made,
): Promise<void> {
	const { lease_id: id, name, due_at, payload } = made;
	const expires_at = new Date(made.expires_at).toISOString();
	const facts = { lease_id: id, engine: engine.entry.type, role, name, scope, expires_at };
	const event = noteBy(actor, needs.system.now(), "lease.created", realm, facts);
	const made_by = makerOf(actor);
	const outcome = await needs.store.leases.activate({ id, name, expires_at, due_at, payload, made_by }, event);
	if (outcome === "done") return;
	needs.reaper.wake();
	if (outcome === "realm_gone") throw realmNotFound();
	throw new AppError(
		"engine_unavailable",
		"the credential was revoked while it was being made, or took too long, and is being removed: try again",
	);
}

/** Records that nobody knows whether a credential exists: the reaper finds out. */
export async function markUncertain(needs: EngineNeeds, lease_id: string, last_error: string): Promise<void> {
	const due_at = needs.clock.now();
	await needs.store.leases.doubt({ id: lease_id, due_at, last_error: last_error.slice(0, MAX_ERROR_CHARACTERS) });
	needs.reaper.wake();
}

/** Records that nothing was made. */
export async function markAborted(
	needs: EngineNeeds,
	{ actor, realm, engine }: Caller,
	lease_id: string,
): Promise<void> {
	const now = needs.system.now();
	const event = noteBy(actor, now, "lease.aborted", realm, { lease_id, engine: engine.entry.type });
	await needs.store.leases.abort({ id: lease_id, closed_at: now.toISOString() }, event);
}

/** Dependencies of tracking delivery. */
interface DeliveryNeeds extends Pick<EngineNeeds, "store" | "system" | "clock" | "reaper"> {
	log: Log;
}

/** Milliseconds for which delivered answers are gathered. If the server ends first, their delivery stays unknown: no harm is done. */
const GATHER_MS = 100;

/**
 * Makes the function that tracks the delivery of a credential: it notes one that arrived and revokes one that did not.
 * Design: §9
 */
export function createDelivery(needs: DeliveryNeeds) {
	const { store, system, log } = needs;
	let arrived: string[] = [];

	async function note(): Promise<void> {
		const ids = arrived;
		arrived = [];
		await store.leases.delivered({ ids, at: system.now().toISOString() });
	}

	async function revokeUndelivered(id: string): Promise<void> {
		const lease = await store.leases.byId(id);
		if (lease === undefined) return;
		const event = leaseEvent(system, "lease.revoking", lease, { reason: "undelivered" });
		await store.leases.revoke({ id, due_at: needs.clock.now(), reason: "undelivered" }, event);
		needs.reaper.wake();
	}

	const attempt = (work: Promise<void>) =>
		void work.catch((error: unknown) => log("error", "lease.delivery.failed", { error }));
	return (lease_id: string, onAnswered: (listener: (isDelivered: boolean) => void) => void): void => {
		onAnswered((isDelivered) => {
			if (!isDelivered) attempt(revokeUndelivered(lease_id));
			else if (arrived.push(lease_id) === 1) setTimeout(() => attempt(note()), GATHER_MS).unref();
		});
	};
}
