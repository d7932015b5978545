import { engineCapabilities, type Fields } from "@svc/protocol";
import { AppError } from "../errors.ts";
import type { Lease, Removal } from "../leases/model.ts";
import { type Connector, TargetError } from "./connectors/connector.ts";
import { EngineUnavailable } from "./host/host.ts";
import type { ReadyEngine, Runtime } from "./runtime.ts";
import type { EngineVault } from "./vault.ts";

/** What removing credentials needs. */
export interface RemovalNeeds {
	runtime: Runtime;
	vault: EngineVault;
}

/**
 * Removes a lease's credential at its target and looks whether it is gone. It may be called again and again: what is absent is removed.
 * Design: §9
 */
export async function removeCredential(needs: RemovalNeeds, lease: Lease): Promise<Removal> {
	try {
		const engine = await engineOf(needs.runtime, lease);
		return engine.connector === undefined
			? await removeByEngine(needs, engine, lease)
			: await removeByCore(engine.connector, lease);
	} catch (error) {
		return removalTrouble(error);
	}
}

/** The engine as it is configured now, when that still leads to the lease's target; else as it was when the lease was made. */
async function engineOf(runtime: Runtime, lease: Lease): Promise<ReadyEngine> {
	const current = await runtime.forRealm(lease.engine, lease.config_realm_id).catch(() => undefined);
	return current?.target === lease.target ? current : runtime.withConfig(lease.engine, lease.config_id);
}

async function removeByCore(connector: Connector, lease: Lease): Promise<Removal> {
	const subject = { name: lease.name, scope: lease.scope };
	// The fence comes before the removal: a create that is still under way must not land behind it.
	const isSure = lease.state !== "uncertain" || (await connector.fence(lease.fence));
	await connector.remove(subject);
	if (await connector.exists(subject))
		return { outcome: "present", message: "the target said that it is removed, and it is still there" };
	return { outcome: isSure ? "absent" : "unproven" };
}

async function removeByEngine({ vault }: RemovalNeeds, engine: ReadyEngine, lease: Lease): Promise<Removal> {
	if (lease.name === "" && lease.payload === null) {
		const message = "the engine did not say what it made: look at the target, then `svc lease abandon` it";
		return { outcome: "rejected", message };
	}
	const payload = lease.payload === null ? {} : await vault.openPayload(lease.id, lease.payload);
	const answer = await engine.call("validate", { ...payload, ...revokeParams(engine, lease) });
	if ("error" in answer) {
		const trouble = readTrouble(engine.mask(answer.error));
		if (trouble.outcome !== "absent") return trouble;
	}
	const names = await listByEngine(engine, lease.scope);
	if (names?.includes(lease.name))
		return { outcome: "present", message: "the engine said that it is revoked, and it is still there" };
	return { outcome: lease.state === "uncertain" ? "unproven" : "absent" };
}

function revokeParams({ entry }: ReadyEngine, lease: Lease): Fields {
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
	if ("error" in answer) throw new TargetError("rejected", engine.mask(answer.error));
	const { names } = answer.data;
	return Array.isArray(names) ? names.filter((name) => typeof name === "string") : undefined;
}

/** What an engine's error says about a credential: containerorch names the status that its API server answered. Spec: ENGINES › Errors */
function readTrouble(message: string): Removal {
	const status = /\bstatus (\d{3})\b/.exec(message)?.[1];
	if (status === "404") return { outcome: "absent" };
	if (status === "401" || status === "403") return { outcome: "denied", message };
	return { outcome: status === undefined ? "unreachable" : "rejected", message };
}

/** What an exception on the way to a target says. */
export function removalTrouble(error: unknown): Exclude<Removal, { outcome: "absent" | "unproven" }> {
	if (error instanceof TargetError) return { outcome: error.kind, message: error.message };
	if (error instanceof EngineUnavailable) return { outcome: "unreachable", message: error.reason };
	if (error instanceof AppError) return { outcome: "unreachable", message: error.message };
	throw error;
}
