import type { Fields } from "@svc/protocol";
import type { EventData } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { Actor } from "../policy/model.ts";
import { admit, ask, authorizeRole, type Caller, type EngineNeeds, logEngine } from "./engines.ts";
import { generateByCore } from "./generate-by-core.ts";
import { generateByEngine } from "./generate-by-engine.ts";
import type { Generated, Wanted } from "./ledger.ts";
import { ownParams, placeParams, roleOf, ttlOf } from "./params.ts";
import { isDynamic } from "./runtime.ts";

/**
 * Lets an engine make a value or a credential. A credential is written down before it exists.
 * @param given the engine's params
 * @param with_connection whether a credential comes with `connection`: what its fields do not say of how to connect
 * @throws AppError not_found (realm, engine type), forbidden, insufficient_scope, unsupported_operation, invalid_ttl, validation_failed,
 * payload_too_large, lease_limit_reached, conflict (leases are paused), engine_not_configured, engine_error, engine_unavailable
 * Spec: API › Engines, ENGINES. Design: §8, §9
 */
export async function generate(
	needs: EngineNeeds,
	actor: Actor,
	slug: string,
	type: string,
	given: Fields,
	with_connection = false,
): Promise<Generated> {
	const caller = await admit(needs, actor, slug, type, "generate");
	const { entry } = caller.engine;
	if (!isDynamic(entry) && !entry.descriptor.capabilities.includes("engine:secret_generation")) {
		throw new AppError("unsupported_operation", "engine does not support generation");
	}
	const own = ownParams(given);
	const role = roleOf(caller.engine, own);
	await authorizeRole(needs, actor, caller, role);
	// An engine of ours refuses by itself a role that is no text; another one might read what was not authorized.
	const params = entry.is_built_in ? own : { ...own, role };
	if (!isDynamic(entry)) return generateValue(needs, actor, caller, params, role);
	return generateCredential(needs, { actor, caller, params, role: role ?? "", with_connection });
}

async function generateValue(
	needs: EngineNeeds,
	actor: Actor,
	caller: Caller,
	params: Fields,
	role: string | undefined,
): Promise<Generated> {
	const data = await ask(needs, actor, caller, "generate", params);
	await logEngine(needs, actor, caller, "engine.generate", { role, ...certificateFacts(data) });
	return { data, lease_id: undefined };
}

/** What the log keeps of a certificate: never its key. */
function certificateFacts({ serial, common_name, san, expires_at }: Fields): EventData {
	const text = (value: unknown) => (typeof value === "string" ? value : undefined);
	return {
		serial: text(serial),
		common_name: text(common_name),
		san: Array.isArray(san) && san.length > 0 ? san.join(",").slice(0, 1024) : undefined,
		expires_at: text(expires_at),
	};
}

const PAUSED =
	"the server was restored from a backup and leases are paused: what is made now could not be ended; the instance admin looks at `svc lease list` and runs `svc lease resume`";

async function generateCredential(needs: EngineNeeds, asked: Omit<Wanted, "scope" | "ttl_ms">): Promise<Generated> {
	if (needs.pause.isPaused()) throw new AppError("conflict", PAUSED);
	const { engine } = asked.caller;
	const { ttl_ms, ttl } = ttlOf(engine, asked.params);
	const { params, scope } = placeParams(engine, asked.params);
	const wanted = { ...asked, params: { ...params, ttl }, scope, ttl_ms };
	return engine.connector === undefined
		? generateByEngine(needs, wanted)
		: generateByCore(needs, wanted, engine.connector);
}
