import type { Fields } from "@svc/protocol";
import { AppError } from "../errors.ts";
import { requestRevoke } from "../leases/leases.ts";
import type { Lease, Removal } from "../leases/model.ts";
import { logRefusal, requireWithinLimits } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { admit, authorizeRole, memberOf } from "./authorize.ts";
import type { ConfigSealer } from "./config/sealed-config.ts";
import type { Caller, EngineNeeds } from "./engines.ts";
import { fail, logEngine } from "./events.ts";
import { EngineUnavailable } from "./host/model.ts";
import { ownParams } from "./issue.ts";
import { type Connector, type RevokeTarget, type Subject, TargetError } from "./kinds/connector.ts";
import type { ReadyEngine, Runtime } from "./runtime.ts";

/**
 * Lets an engine check a value, or revokes a credential: anybody may who could make one of its role in that realm.
 * @param given the engine's params
 * @throws AppError not_found (realm, engine type, or a credential that is not this realm's), forbidden, unsupported_operation,
 * validation_failed, payload_too_large, engine_not_configured, engine_error (also when
 * the target answers with an error: the server goes on), engine_unavailable (the target is away: the credential is revoked when it returns),
 * conflict (its lease was abandoned, or the credential is being made), rate_limited
 * Spec: API › Engines, ENGINES › States and transitions. Design: §8, §9
 */
export async function validate(
	needs: EngineNeeds,
	actor: Actor,
	slug: string,
	type: string,
	given: Fields,
): Promise<Fields> {
	const caller = await admit(needs, actor, slug, type, "validate");
	const { entry, connector } = caller.engine;
	if (connector === undefined && !entry.descriptor.capabilities.includes("engine:secret_validation"))
		throw new AppError("unsupported_operation", "engine does not support validation");
	const own = ownParams(given);
	const validate = () =>
		connector === undefined ? validateValue(needs, caller, own) : revokeByParams(needs, caller, connector, own);
	return needs.calls.run(validate, actor);
}

async function revokeByParams(needs: EngineNeeds, caller: Caller, connector: Connector, own: Fields): Promise<Fields> {
	const { params, scope } = caller.engine.confine(own);
	try {
		const asked = await connector.readRevoke({ params, scope, ...memberOf(caller) });
		await revokeAsked(needs, caller, connector, scope, asked);
		return asked.answer;
	} catch (error) {
		return fail(needs, caller, "validate", error);
	}
}

async function validateValue(needs: EngineNeeds, caller: Caller, params: Fields): Promise<Fields> {
	const { actor, engine } = caller;
	const role = (params.role ?? "") === "" ? undefined : String(params.role);
	await requireWithinLimits(needs, actor, "engines", { engine: engine.entry.type, role });
	const asked = engine.ask("validate", params, memberOf(caller));
	const data = await asked.catch((error) => fail(needs, caller, "validate", error));
	await logEngine(needs, caller, "engine.validate", { valid: data.valid === true });
	return data;
}

async function revokeAsked(
	needs: EngineNeeds,
	caller: Caller,
	connector: Connector,
	scope: string,
	{ name, texts, scope: chosen }: RevokeTarget,
): Promise<void> {
	const isChosen = chosen !== undefined;
	if (name !== undefined)
		await revoke(
			needs,
			caller,
			{ name, scope, isChosen },
			async () => (await connector.exists({ name, scope })) ?? true,
		);
	if (texts !== undefined)
		await revoke(needs, caller, { name: await findName(needs, caller, texts), scope, isChosen }, async () => true);
}

/** Finds the first of the texts that the ledger knows as a name. @throws AppError not_found */
async function findName(needs: EngineNeeds, caller: Caller, texts: string[]): Promise<string> {
	for await (const { target } of everyWay(needs, caller)) {
		const [known] = await needs.store.leases.byNames(target, "", texts);
		if (known !== undefined) return known.name;
	}
	throw unknownCredential();
}

/** A credential that a member wants to revoke. */
interface Wanted extends Subject {
	/** True if the request chose the scope. */
	isChosen: boolean;
}

/**
 * Revokes a credential that this realm made, even if it was revoked before. One that the ledger does not know is only looked for.
 * @throws AppError not_found when it is another realm's, or exists without a lease
 */
async function revoke(
	needs: EngineNeeds,
	caller: Caller,
	credential: Wanted,
	exists: () => Promise<boolean>,
): Promise<void> {
	const { actor, realm } = caller;
	const lease = await findLease(needs, caller, credential);
	const isForeign = lease === undefined ? await exists() : lease.realm_id !== realm.id;
	if (isForeign) throw await logRefusal(needs, actor, unknownCredential(), "lease", realm);
	await authorizeRole(needs, caller, lease?.role);
	const facts = { lease_id: lease?.id, name: credential.name, scope: credential.scope };
	await logEngine(needs, caller, "engine.validate", facts);
	if (lease === undefined) return;
	const refusal = refusalOf(await requestRevoke(needs, actor, realm, lease));
	if (refusal === undefined) return;
	await logEngine(needs, caller, "engine.error", { method: "validate", code: refusal.code });
	throw refusal;
}

/** Explains why a credential is not removed yet: the exact answer of target or engine, or that the target is away. */
function refusalOf(removal: Removal): AppError | undefined {
	if (removal.outcome === "absent") return undefined;
	if ("message" in removal && (removal.outcome !== "unreachable" || removal.is_answer))
		return new AppError("engine_error", removal.message);
	return new AppError(
		"engine_unavailable",
		"the target is unreachable, or a create may still take effect there: the server keeps trying until the credential is gone; `svc lease show` has the last error",
	);
}

/** Finds a credential's lease at the engine's current target; else this realm's lease at the target of another kept configuration. */
async function findLease(
	needs: EngineNeeds,
	caller: Caller,
	{ name, scope: asked, isChosen }: Wanted,
): Promise<Lease | undefined> {
	for await (const engine of everyWay(needs, caller)) {
		const isNow = engine === caller.engine;
		const scopes = isNow || isChosen ? [asked] : (engine.connector?.scopes ?? []);
		for (const scope of scopes) {
			const lease = await needs.store.leases.byCredential({ target: engine.target, scope, name });
			if (lease !== undefined && (isNow || lease.realm_id === caller.realm.id)) return lease;
		}
	}
	return undefined;
}

/** Yields the engine as it is configured now, then with each of its other kept configurations. */
async function* everyWay({ runtime }: EngineNeeds, { engine }: Caller): AsyncGenerator<ReadyEngine> {
	yield engine;
	for (const other of await runtime.kept()) if (other !== engine && other.entry === engine.entry) yield other;
}

function unknownCredential(): AppError {
	return new AppError("not_found", "this realm has no such credential: `svc lease list` shows those it has");
}

/** Dependencies of removing credentials. */
export interface RemovalNeeds {
	runtime: Runtime;
	sealer: Pick<ConfigSealer, "openPayload">;
}

/**
 * Removes a lease's credential at its target and checks that it is gone. You can repeat the call: an absent credential counts as removed.
 * Design: §9
 */
export async function removeCredential(needs: RemovalNeeds, lease: Lease): Promise<Removal> {
	let refusal: Removal | undefined;
	for await (const engine of waysTo(needs.runtime, lease)) {
		const removal = await removeAt(needs, engine, lease);
		if (removal.outcome !== "denied") return removal;
		refusal ??= removal;
	}
	return refusal ?? { outcome: "unreachable", message: "no configuration is left for this target" };
}

/** Removes a managed name that no lease knows, and checks that it is gone. Design: §9 */
export function removeOrphan(
	needs: Pick<RemovalNeeds, "sealer">,
	engine: ReadyEngine,
	subject: Subject,
): Promise<Removal> {
	return removeAt(needs, engine, {
		...subject,
		id: "",
		realm_id: "",
		state: "revoking",
		reason: "zombie",
		fence: "",
		payload: null,
	});
}

/**
 * Yields the engine in every configuration that leads to the lease's target: first the current one; then, in case that leads elsewhere or is
 * denied, the kept ones, those of the same realm first, the newest first.
 */
async function* waysTo(runtime: Runtime, lease: Lease): AsyncGenerator<ReadyEngine> {
	const current = await runtime.forRealm(lease.engine, lease.config_realm_id).catch(() => undefined);
	if (current?.target === lease.target) yield current;
	const kept = await runtime.kept();
	const own = kept.filter(({ config }) => config.realm_id === lease.config_realm_id);
	const made = await runtime.withConfig(lease.engine, lease.config_id).catch(() => undefined);
	for (const engine of new Set([...own, ...kept, made])) {
		if (engine !== current && engine?.target === lease.target) yield engine;
	}
}

async function removeAt(
	{ sealer }: Pick<RemovalNeeds, "sealer">,
	{ connector }: ReadyEngine,
	lease: Pick<Lease, "id" | "name" | "scope" | "realm_id" | "state" | "reason" | "fence" | "payload">,
): Promise<Removal> {
	if (connector === undefined) return { outcome: "rejected", message: "the engine no longer makes credentials" };
	const { id: lease_id, name, scope, realm_id } = lease;
	try {
		// The fence comes before the removal: a create still under way must not land after it.
		const isSure = lease.state !== "uncertain" || (await connector.fence?.(lease.fence)) === true;
		const payload = lease.payload === null ? undefined : await sealer.openPayload(lease_id, lease.payload);
		await connector.remove({ lease_id, name, scope, realm_id, payload });
		if (await connector.exists({ name, scope }))
			return { outcome: "present", message: "the target reported it as removed, but it still exists" };
		if (lacksPayload(connector, lease)) return { outcome: "rejected", message: PAYLOAD_GONE };
		return { outcome: isSure ? "absent" : "unproven" };
	} catch (error) {
		return removalError(error);
	}
}

const PAYLOAD_GONE =
	"another program removed what the engine needs to revoke it, so only its name was sent: check the target, then run `svc lease abandon`";

/** Tells whether a credential that its engine reported has lost its payload. A lease that was closed has none, and comes back as a zombie. */
function lacksPayload(
	{ keepsPayload }: Connector,
	{ state, reason, payload }: Pick<Lease, "state" | "reason" | "payload">,
) {
	return keepsPayload === true && payload === null && state === "revoking" && reason !== "zombie";
}

/** Turns an exception on the way to a target into the outcome of a removal. */
export function removalError(error: unknown): Exclude<Removal, { outcome: "absent" | "unproven" }> {
	if (error instanceof TargetError) {
		const { kind: outcome, message, is_answer } = error;
		return { outcome, message, ...(is_answer ? { is_answer } : {}) };
	}
	if (error instanceof EngineUnavailable)
		return { outcome: "unreachable", message: error.reason, ...(error.sent ? { is_engine: true } : {}) };
	if (error instanceof AppError) return { outcome: "unreachable", message: error.message };
	throw error;
}
