import type { Fields } from "@svc/protocol";
import { AppError } from "../errors.ts";
import { requestRevoke } from "../leases/leases.ts";
import type { Lease, Removal } from "../leases/model.ts";
import { logRefusal, requireWithinLimits } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { admit, ask, authorizeRole, type Caller, type EngineNeeds, fail, logEngine } from "./engines.ts";
import { readDocDrop, readKvDelete } from "./kinds/commands.ts";
import type { Connector } from "./kinds/connector.ts";
import { ownParams, placeParams } from "./params.ts";
import type { ReadyEngine } from "./ready.ts";
import { listByEngine } from "./removal.ts";
import { isDynamic } from "./runtime.ts";
import { scopesOf } from "./targets.ts";

/**
 * Lets an engine check a value, or revokes a credential: whoever could make one of its role in that realm may.
 * @param given the engine's params
 * @throws AppError not_found (realm, engine type, or a credential that is not this realm's), forbidden, unsupported_operation,
 * validation_failed, payload_too_large, engine_not_configured, engine_error (also when
 * the target answers with an error: the server goes on), engine_unavailable (the target is away: the credential is taken back when it returns),
 * conflict (its lease was given up, or the credential is being made)
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
	if (!isDynamic(entry) && !entry.descriptor.capabilities.includes("engine:secret_validation")) {
		throw new AppError("unsupported_operation", "engine does not support validation");
	}
	const params = ownParams(given);
	if (isDynamic(entry)) {
		const { params: placed, scope } = placeParams(caller.engine, params);
		return connector === undefined
			? revokeByEngine(needs, actor, caller, placed, scope)
			: revokeByCore(needs, actor, caller, placed, scope, connector);
	}
	const role = (params.role ?? "") === "" ? undefined : String(params.role);
	await requireWithinLimits(needs, actor, "engines", { engine: type, role });
	const data = await ask(needs, actor, caller, "validate", params);
	await logEngine(needs, actor, caller, "engine.validate", { valid: data.valid === true });
	return data;
}

/** The engine only says what is to be run, so it may be asked first: its refusals are the answer. */
async function revokeByCore(
	needs: EngineNeeds,
	actor: Actor,
	caller: Caller,
	params: Fields,
	scope: string,
	connector: Connector,
): Promise<Fields> {
	const { kv_command, doc_command, ...data } = await ask(needs, actor, caller, "validate", params);
	const name = String(params.username);
	try {
		if (caller.engine.entry.type === "keyvalue") readKvDelete({ ...data, kv_command }, name);
		else readDocDrop({ ...data, doc_command }, name);
		await revoke(needs, actor, caller, { name, scope }, () => connector.exists({ name, scope }));
	} catch (error) {
		await fail(needs, actor, caller, "validate", error);
	}
	return data;
}

const SERVICE_ACCOUNT = /^svc-[0-9a-f]{8}$/;

/** The engine acts at once, so the ledger is asked first. What is no managed name is left for the engine to refuse. */
async function revokeByEngine(
	needs: EngineNeeds,
	actor: Actor,
	caller: Caller,
	params: Fields,
	scope: string,
): Promise<Fields> {
	const { engine } = caller;
	if (engine.entry.type !== "containerorch") return revokeForeign(needs, actor, caller, params);
	const { service_account: name } = params;
	if (typeof name !== "string" || !SERVICE_ACCOUNT.test(name)) return ask(needs, actor, caller, "validate", params);
	const isThere = async () => (await listByEngine(engine, scope))?.includes(name) ?? true;
	try {
		await revoke(needs, actor, caller, { name, scope }, isThere);
	} catch (error) {
		await fail(needs, actor, caller, "validate", error);
	}
	return { valid: false, message: `service account ${name} and bindings deleted` };
}

/** A third party's credential is found by any of the texts that it was made with. */
async function revokeForeign(needs: EngineNeeds, actor: Actor, caller: Caller, params: Fields): Promise<Fields> {
	const names = Object.values(params).filter((value): value is string => typeof value === "string" && value !== "");
	for await (const { target } of everyWay(needs, caller)) {
		const [known] = await needs.store.leases.byNames(target, "", names);
		if (known === undefined) continue;
		await revoke(needs, actor, caller, { name: known.name, scope: "" }, async () => true);
		return { valid: true, message: "credentials revoked" };
	}
	throw unknownCredential();
}

/**
 * Takes a credential back that this realm made, and again if it was already. One that no ledger knows is only looked for.
 * @throws AppError not_found when it is another realm's, or exists and is nobody's
 */
async function revoke(
	needs: EngineNeeds,
	actor: Actor,
	caller: Caller,
	credential: Pick<Lease, "name" | "scope">,
	exists: () => Promise<boolean>,
): Promise<void> {
	const { realm } = caller;
	const lease = await findLease(needs, caller, credential);
	const isForeign = lease === undefined ? await exists() : lease.realm_id !== realm.id;
	if (isForeign) throw await logRefusal(needs, actor, unknownCredential(), "lease", realm);
	await authorizeRole(needs, actor, caller, lease?.role);
	const facts = { lease_id: lease?.id, name: credential.name, scope: credential.scope };
	await logEngine(needs, actor, caller, "engine.validate", facts);
	if (lease === undefined) return;
	const trouble = troubleIn(await requestRevoke(needs, actor, realm, lease));
	if (trouble === undefined) return;
	await logEngine(needs, actor, caller, "engine.error", { method: "validate", code: trouble.code });
	throw trouble;
}

/** Why a credential that is to go is there: what the target or the engine answered, word for word, or that the target is away. */
function troubleIn(removal: Removal): AppError | undefined {
	if (removal.outcome === "absent") return undefined;
	if ("message" in removal && (removal.outcome !== "unreachable" || removal.is_answer))
		return new AppError("engine_error", removal.message);
	return new AppError(
		"engine_unavailable",
		"the target is away, or a create may still land there: the server goes on until the credential is gone, and `svc lease show` says why it is not",
	);
}

/** The lease of a credential where the engine makes them now; else this realm's, where the engine made them under a former configuration. */
async function findLease(
	needs: EngineNeeds,
	caller: Caller,
	{ name, scope: asked }: Pick<Lease, "name" | "scope">,
): Promise<Lease | undefined> {
	for await (const engine of everyWay(needs, caller)) {
		const isNow = engine === caller.engine;
		const scopes = isNow || engine.connector === undefined ? [asked] : scopesOf(engine);
		for (const scope of scopes) {
			const lease = await needs.store.leases.byCredential({ target: engine.target, scope, name });
			if (lease !== undefined && (isNow || lease.realm_id === caller.realm.id)) return lease;
		}
	}
	return undefined;
}

/** The engine as it is configured now, then as any other configuration of it has it that is kept. */
async function* everyWay({ runtime }: EngineNeeds, { engine }: Caller): AsyncGenerator<ReadyEngine> {
	yield engine;
	for (const other of await runtime.kept()) if (other !== engine && other.entry === engine.entry) yield other;
}

function unknownCredential(): AppError {
	return new AppError("not_found", "this realm has no such credential: `svc lease list` shows its own");
}
