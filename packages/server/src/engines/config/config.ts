import type { Fields } from "@svc/protocol";
import { eventBy } from "../../audit/model.ts";
import { AppError } from "../../errors.ts";
import { logRefusal, requireInstanceAdmin } from "../../policy/authorize.ts";
import type { Actor } from "../../policy/model.ts";
import type { EngineNeeds } from "../engines.ts";
import { EngineUnavailable } from "../host/host.ts";
import { TargetError } from "../kinds/connector.ts";
import type { EngineConfigRow } from "../model.ts";
import type { ReadyEngine } from "../runtime.ts";
import { findAllowed, refuseAllowed, showAllowed } from "./allowed-realms.ts";
import { checkFields, maskFields } from "./fields.ts";

/** Health of an engine and its target. */
export interface EngineStatus {
	status: "healthy" | "unhealthy";
	/** Reason why it does not work; empty when it does. */
	message: string;
}

/** A configuration for display: secrets masked. */
export type ShownConfig = Fields & { status: string };

/** Choice of a configuration: an engine's own for one realm, or the one for all realms. */
export interface ConfigScope {
	type: string;
	slug: string | undefined;
}

/**
 * Sets an engine's configuration, for all realms or one. It takes effect immediately; credentials made under the former one stay revocable.
 * An unhealthy one is stored, too, unless it is to be tried first: the answer says what is wrong.
 * @throws AppError forbidden, insufficient_scope, not_found, validation_failed, missing_field, invalid_ttl, conflict when it was tried and does not work
 * Design: §7.1, §8, §13
 */
export async function setConfig(
	needs: EngineNeeds,
	actor: Actor,
	scope: ConfigScope,
	given: Fields,
	is_tried: boolean,
): Promise<ShownConfig> {
	const realm = await manage(needs, actor, scope, "write");
	const entry = needs.runtime.entry(scope.type);
	if (realm !== undefined) refuseAllowed(given);
	const former = await needs.store.engines.config(scope.type, realm?.id ?? "", "active");
	const current = former && (await needs.sealer.open(former));
	const checked = checkFields(entry.kind, entry.descriptor, given, current);
	const allowed = realm === undefined ? await findAllowed(needs, checked) : undefined;
	const fields = allowed === undefined ? checked : { ...checked, allowed_realms: allowed };
	const now = needs.system.now();
	const row = await needs.sealer.seal(
		{
			id: needs.system.uuid(),
			engine: scope.type,
			realm_id: realm?.id ?? "",
			state: "active",
			created_by: actor.user_id,
			created_at: now.toISOString(),
		},
		fields,
	);
	const engine = await needs.runtime.withRow(row);
	if (is_tried) await requireHealthy(needs, engine);
	const facts = { engine: scope.type, config_id: row.id, allowed_realms: allowed && shownList(checked.allowed_realms) };
	const event = eventBy(actor, now, "engine.config.set", realm, facts);
	if ((await needs.store.engines.setConfig(row, event, allowed, keepsFormer(needs, scope))) === "realm_gone")
		throw new AppError("not_found", "realm not found");
	if (former !== undefined) needs.runtime.retire(former.id);
	if (realm === undefined) needs.runtime.retireUnconfigured(scope.type);
	needs.reaper.reconsider();
	return show(needs, engine);
}

/** Tells whether former realms share a part of the engine, which no configuration replaces. */
function keepsFormer({ runtime }: EngineNeeds, { type }: ConfigScope): boolean {
	return runtime.entry(type).kind.realmPart !== undefined;
}

/** Requires that a configuration works which is not stored yet. @throws AppError conflict with the engine's own words */
async function requireHealthy({ runtime }: EngineNeeds, engine: ReadyEngine): Promise<void> {
	const { status, message } = await statusOf(engine);
	if (status === "healthy") return;
	runtime.retire(engine.config.id);
	throw new AppError("conflict", `the configuration was not stored, because it does not work: ${message}`);
}

/** Characters of a list kept in the log. */
const MAX_LISTED = 1024;

function shownList(names: unknown): string {
	return (names as string[]).join(",").slice(0, MAX_LISTED);
}

/** Reads a configuration, secrets masked. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function getConfig(needs: EngineNeeds, actor: Actor, scope: ConfigScope): Promise<ShownConfig> {
	const realm = await manage(needs, actor, scope, "read");
	return show(needs, await needs.runtime.withRow(await find(needs, scope, realm?.id ?? "")));
}

/** Removes a configuration; a realm falls back to the common one. @throws AppError forbidden, insufficient_scope, not_found. Design: §8 */
export async function removeConfig(needs: EngineNeeds, actor: Actor, scope: ConfigScope): Promise<void> {
	const realm = await manage(needs, actor, scope, "delete");
	const row = await find(needs, scope, realm?.id ?? "");
	const event = eventBy(actor, needs.system.now(), "engine.config.deleted", realm, {
		engine: scope.type,
		config_id: row.id,
	});
	const input = { engine: scope.type, realm_id: row.realm_id };
	if (!(await needs.store.engines.removeConfig(input, event, keepsFormer(needs, scope)))) throw noConfig();
	needs.runtime.retire(row.id);
	if (realm === undefined) needs.runtime.retireUnconfigured(scope.type);
}

/**
 * Asks an engine and its target whether they work.
 * @throws AppError forbidden, insufficient_scope, not_found, engine_unavailable with the engine's own words (`ping failed: …`)
 * Spec: ENGINES › Endpoints. Design: §7.1
 */
export async function pingEngine(needs: EngineNeeds, actor: Actor, scope: ConfigScope): Promise<{ status: "healthy" }> {
	const realm = await manage(needs, actor, scope, "read");
	const { status, message } = await statusOf(await needs.runtime.forRealm(scope.type, realm?.id ?? ""));
	if (status === "unhealthy") throw new AppError("engine_unavailable", message);
	return { status };
}

/** Checks whether an engine and its target work: the core pings the systems that it drives itself. Spec: ENGINES › Endpoints */
export async function statusOf({ entry, call, connector }: ReadyEngine): Promise<EngineStatus> {
	try {
		if (connector === undefined || entry.kind.command !== undefined) {
			const answer = await call("ping", {});
			if ("error" in answer) return { status: "unhealthy", message: answer.error };
		}
		await connector?.ping();
		return { status: "healthy", message: "" };
	} catch (error) {
		if (error instanceof TargetError)
			return { status: "unhealthy", message: error.is_answer ? error.message : `ping failed: ${error.message}` };
		if (error instanceof EngineUnavailable) return { status: "unhealthy", message: `ping failed: ${error.reason}` };
		throw error;
	}
}

async function show(needs: EngineNeeds, engine: ReadyEngine): Promise<ShownConfig> {
	const { status, message } = await statusOf(engine);
	const { fields, realm_id } = engine.config;
	const allowed_realms = await showAllowed(needs, engine.entry.type, fields);
	const masked = maskFields(engine.entry.descriptor, fields);
	const shown = realm_id === "" ? { ...masked, allowed_realms } : masked;
	const warning = engine.entry.kind.warning?.(fields) ?? "";
	return { ...shown, status: status === "healthy" ? `healthy${warning === "" ? "" : ` (${warning})`}` : message };
}

async function manage(
	needs: EngineNeeds,
	actor: Actor,
	{ type, slug }: ConfigScope,
	scope: "read" | "write" | "delete",
) {
	await requireInstanceAdmin(needs, actor, scope);
	needs.runtime.entry(type);
	if (slug === undefined) return undefined;
	const realm = await needs.store.realms.access(slug, actor.user_id);
	if (realm === undefined) {
		throw await logRefusal(needs, actor, new AppError("not_found", "realm not found"), "instance");
	}
	return realm;
}

async function find(needs: EngineNeeds, { type }: ConfigScope, realm_id: string): Promise<EngineConfigRow> {
	const row = await needs.store.engines.config(type, realm_id, "active");
	if (row === undefined) throw noConfig();
	return row;
}

function noConfig(): AppError {
	return new AppError("not_found", "the engine has no configuration here: set one with `svc engine set`");
}
