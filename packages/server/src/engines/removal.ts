import { engineCapabilities, type Fields } from "@svc/protocol";
import { AppError } from "../errors.ts";
import type { Lease, Removal } from "../leases/model.ts";
import type { ConfigSealer } from "./config/sealed-config.ts";
import { coreFor } from "./host/failures.ts";
import { EngineUnavailable } from "./host/host.ts";
import { type Connector, type Subject, TargetError } from "./kinds/connector.ts";
import type { ReadyEngine } from "./ready.ts";
import type { Runtime } from "./runtime.ts";

/** What removing credentials needs. */
export interface RemovalNeeds {
	runtime: Runtime;
	sealer: ConfigSealer;
}

/**
 * Removes a lease's credential at its target and looks whether it is gone. It may be called again and again: what is absent is removed.
 * Design: §9
 */
export async function removeCredential(needs: RemovalNeeds, lease: Lease): Promise<Removal> {
	let refusal: Removal | undefined;
	for await (const engine of waysTo(needs.runtime, lease)) {
		const removal = await removeAt(needs, engine, lease);
		if (removal.outcome !== "denied") return removal;
		refusal ??= removal;
	}
	return refusal ?? { outcome: "unreachable", message: "no configuration leads to this target any more" };
}

/** Removes a managed name that no lease knows, and looks whether it is gone. Design: §9 */
export function removeOrphan(
	needs: Pick<RemovalNeeds, "sealer">,
	engine: ReadyEngine,
	subject: Subject,
): Promise<Removal> {
	return removeAt(needs, engine, { ...subject, id: "", realm_id: "", state: "revoking", fence: "", payload: null });
}

/** What has to be known of a credential to remove it. */
type Remains = Pick<Lease, "id" | "name" | "scope" | "realm_id" | "state" | "fence" | "payload">;

async function removeAt(needs: Pick<RemovalNeeds, "sealer">, engine: ReadyEngine, remains: Remains): Promise<Removal> {
	const { connector } = engine;
	try {
		return connector === undefined
			? await removeByEngine(needs, engine, remains)
			: await removeByCore(connector, remains);
	} catch (error) {
		return removalTrouble(error);
	}
}

/**
 * The engine in every configuration that leads to the lease's target: as it is configured now; then, for when that leads elsewhere or is
 * denied, as any kept configuration has it, those of the same place first, the newest first.
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

async function removeByCore(connector: Connector, lease: Remains): Promise<Removal> {
	const subject = { name: lease.name, scope: lease.scope };
	// The fence comes before the removal: a create that is still under way must not land behind it.
	const isSure = lease.state !== "uncertain" || (await connector.fence(lease.fence));
	await connector.remove(subject);
	if (await connector.exists(subject))
		return { outcome: "present", message: "the target said that it is removed, and it is still there" };
	return { outcome: isSure ? "absent" : "unproven" };
}

async function removeByEngine(
	{ sealer }: Pick<RemovalNeeds, "sealer">,
	engine: ReadyEngine,
	lease: Remains,
): Promise<Removal> {
	if (lease.name === "" && lease.payload === null) {
		const message = "the engine did not say what it made: look at the target, then `svc lease abandon` it";
		return { outcome: "rejected", message };
	}
	const payload = lease.payload === null ? {} : await sealer.openPayload(lease.id, lease.payload);
	const params = { ...payload, ...revokeParams(engine, lease) };
	const answer = await engine.call("validate", params, coreFor(lease.realm_id));
	if ("error" in answer && statusIn(answer.error) !== "404") {
		const trouble = removalTrouble(troubleOf(answer.error));
		// What an engine of ours says without a status is of a target that gave none.
		return engine.entry.is_built_in ? trouble : { ...trouble, is_answer: true };
	}
	const names = await listByEngine(engine, lease.scope);
	if (names?.includes(lease.name))
		return { outcome: "present", message: "the engine said that it is revoked, and it is still there" };
	return { outcome: lease.state === "uncertain" ? "unproven" : "absent" };
}

function revokeParams({ entry }: ReadyEngine, lease: Remains): Fields {
	if (entry.type === "containerorch") return { service_account: lease.name, namespace: lease.scope };
	return { _lease: { id: lease.id, name: lease.name } };
}

/**
 * The managed names at an engine's target, for engines that can list them.
 * @returns undefined when the engine cannot
 * @throws EngineUnavailable, TargetError
 */
export async function listByEngine(engine: ReadyEngine, scope: string): Promise<string[] | undefined> {
	if (!engineCapabilities(engine.entry.descriptor).includes("list")) return undefined;
	const answer = await engine.call("list", { namespace: scope });
	if ("error" in answer) throw troubleOf(answer.error);
	const { names } = answer.data;
	return Array.isArray(names) ? names.filter((name) => typeof name === "string") : undefined;
}

/** What an engine's error says about its target: containerorch names the status that its API server answered. Spec: ENGINES › Errors */
export function troubleOf(message: string): TargetError {
	const status = statusIn(message);
	if (status === "401" || status === "403") return new TargetError("denied", message);
	return new TargetError(status === undefined ? "unreachable" : "rejected", message);
}

function statusIn(message: string): string | undefined {
	return /\bstatus (\d{3})\b/.exec(message)?.[1];
}

/** What an exception on the way to a target says. */
export function removalTrouble(error: unknown): Exclude<Removal, { outcome: "absent" | "unproven" }> {
	if (error instanceof TargetError) return { outcome: error.kind, message: error.message };
	if (error instanceof EngineUnavailable)
		return { outcome: "unreachable", message: error.reason, ...(error.sent ? { is_engine: true } : {}) };
	if (error instanceof AppError) return { outcome: "unreachable", message: error.message };
	throw error;
}
