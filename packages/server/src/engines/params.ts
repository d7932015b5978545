import {
	DurationError,
	engineCapabilities,
	type Fields,
	formatDuration,
	MAX_REQUEST_BYTES,
	parseDuration,
} from "@svc/protocol";
import { AppError } from "../errors.ts";
import { allowedNames, durationOf } from "./config/fields.ts";
import type { ReadyEngine } from "./ready.ts";

/** Shortest life of a credential. */
const MIN_TTL_MS = 1000;

/** Lives of credentials of engines that configure none. Spec: ENGINES › Limits */
const USUAL_TTL_MS = 60 * 60 * 1000;
const USUAL_MAX_TTL_MS = 24 * 60 * 60 * 1000;

/** Databases and namespaces that are reached only when a configuration lists them by name. Design: §8 */
const PROTECTED = ["admin", "local", "config", "kube-system"];

/** Bytes of a caller's params: the rest of an engine's line is for what the core adds. */
const MAX_PARAMS_BYTES = MAX_REQUEST_BYTES - 1024;

/**
 * Params as the core sends them on: what begins with an underscore is the core's own and never a caller's.
 * @throws AppError payload_too_large
 * Design: §9
 */
export function ownParams(given: Fields): Fields {
	const params = Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith("_")));
	if (Buffer.byteLength(JSON.stringify(params)) <= MAX_PARAMS_BYTES) return params;
	throw new AppError("payload_too_large", `the params must be at most ${MAX_PARAMS_BYTES} bytes`);
}

/** Characters of a role's name that are written down: one more than a declared one can have, so that no other is taken for it. */
const MAX_ROLE_CHARACTERS = 101;

/** The role that is asked for, cut off; the engine's first one when none is named and the engine does not insist. */
export function roleOf({ entry }: ReadyEngine, params: Fields): string | undefined {
	const { role } = params;
	if (typeof role === "string" && role !== "") return role.slice(0, MAX_ROLE_CHARACTERS);
	return entry.type === "containerorch" ? undefined : entry.descriptor.default_roles[0]?.name;
}

/**
 * The life of the credential that is asked for: the caller's ttl, else the configuration's, within its max_ttl.
 * @returns milliseconds, and the text that the engine is sent
 * @throws AppError invalid_ttl
 * Design: §8
 */
export function ttlOf({ config }: ReadyEngine, params: Fields): { ttl_ms: number; ttl: string } {
	const { fields } = config;
	const usual_ms = durationOf(fields, "default_ttl") ?? durationOf(fields, "token_ttl") ?? USUAL_TTL_MS;
	const ttl_ms = params.ttl === undefined || params.ttl === null ? usual_ms : parseTtl(params.ttl);
	const ttl = params.ttl === undefined || params.ttl === null ? formatDuration(usual_ms) : String(params.ttl);
	if (ttl_ms < MIN_TTL_MS) throw new AppError("invalid_ttl", "invalid ttl: a credential lives for at least 1s");
	const max_ms =
		durationOf(fields, "max_ttl") ?? (fields.token_ttl === undefined ? USUAL_MAX_TTL_MS : Number.POSITIVE_INFINITY);
	if (ttl_ms > max_ms)
		throw new AppError("invalid_ttl", `ttl ${ttl} exceeds max ${String(fields.max_ttl ?? formatDuration(max_ms))}`);
	return { ttl_ms, ttl };
}

function parseTtl(text: unknown): number {
	try {
		return parseDuration(text);
	} catch (error) {
		if (error instanceof DurationError) throw new AppError("invalid_ttl", `invalid ttl: ${error.message}`);
		throw error;
	}
}

/**
 * Keeps a request within the databases and namespaces of the configuration, and fills in what it leaves out.
 * @returns the params with the place in them, and the place
 * @throws AppError validation_failed, engine_error (it is no text)
 * Design: §8
 */
export function placeParams(engine: ReadyEngine, params: Fields): { params: Fields; scope: string } {
	const { fields } = engine.config;
	if (engine.entry.type === "documentdb") {
		const own = String(fields.auth_database);
		const auth_database = given(params, "auth_database", "parsing params") ?? own;
		if (auth_database !== own) throw new AppError("validation_failed", `auth_database must be the configured one`);
		const database = given(params, "database", "parsing params");
		if (database !== undefined)
			allow("database", database, String(fields.database), allowedNames(fields, "allowed_databases"));
		return { params: { ...params, auth_database }, scope: auth_database };
	}
	if (engine.entry.type === "containerorch") {
		const own = String(fields.namespace);
		const namespace = given(params, "namespace", "invalid params") ?? own;
		allow("namespace", namespace, own, allowedNames(fields, "allowed_namespaces"));
		return { params: { ...params, namespace }, scope: namespace };
	}
	return { params, scope: "" };
}

/**
 * A param as a text; absent, null and empty are undefined.
 * @param refusal what the engine's own refusal of unusable params begins with
 */
function given(params: Fields, name: string, refusal: "parsing params" | "invalid params"): string | undefined {
	const value = params[name];
	if (value === undefined || value === null || value === "") return undefined;
	if (typeof value !== "string") throw new AppError("engine_error", `${refusal}: ${name} must be a string`);
	return value;
}

function allow(what: "database" | "namespace", name: string, own: string, listed: readonly string[]): void {
	if (listed.includes(name) || (name === own && !PROTECTED.includes(name))) return;
	throw new AppError(
		"validation_failed",
		`this ${what} is not allowed: the instance admin lists it in allowed_${what}s of the engine's configuration`,
	);
}

/** Credentials of an engine that may be open at once in one realm where the configuration sets no limit. Design: §13 */
const MAX_OPEN = 1000;

/** How many credentials of the configuration may be open at once; null when only each realm has a limit. */
export function limitOf({ config }: Pick<ReadyEngine, "config">): number | null {
	const { max_connections } = config.fields;
	if (typeof max_connections === "number") return max_connections;
	return config.realm_id === "" ? null : MAX_OPEN;
}

/** How many of one realm may be open under the configuration of all realms; undefined when the limit of all says it. */
export function realmLimitOf({ config }: Pick<ReadyEngine, "config">): number | undefined {
	const { max_connections_per_realm: most, max_connections } = config.fields;
	if (config.realm_id !== "") return undefined;
	if (typeof most === "number") return most;
	return typeof max_connections === "number" ? undefined : MAX_OPEN;
}

/** Whether the core chooses the names of an engine's credentials. Design: §9 */
export function takesNames({ entry }: ReadyEngine): boolean {
	return engineCapabilities(entry.descriptor).includes("lease_hint");
}
