import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Schema, Validator } from "@cfworker/json-schema";
import { type Descriptor, type Fields, MASK, parseDuration } from "@svc/protocol";
import { AppError } from "../../errors.ts";
import { invalidTtl } from "../../expiry.ts";
import { ROLES } from "../../policy/model.ts";
import type { Environment, Kind } from "../kinds/kind.ts";

/** An engine's configuration, opened and complete. */
export interface Configuration {
	/** Row in the store; empty when nobody configured the engine and it needs no configuration. */
	id: string;
	/** Realm that it belongs to; empty for that of all realms. */
	realm_id: string;
	/** Its fields, with the defaults of config_schema. */
	fields: Fields;
}

/** Largest value of a limit in a configuration. */
const MAX_LIMIT = 1_000_000;

const CAPABILITIES = ROLES.admin;

/** Schema of a list of names. */
const NAMES = {
	type: "array",
	items: { type: "string", minLength: 1, maxLength: 253 },
	maxItems: 1000,
} as const;

/** Fields with the names that requests may give. Design: §7.1 */
export const ALLOWED_NAMES = {
	allowed_databases: { ...NAMES, description: "Databases that a request may name besides the configured one." },
	allowed_namespaces: { ...NAMES, description: "Namespaces that a request may name besides the configured one." },
} as const;

/** Fields that every engine's configuration may have besides its own. Design: §7.1 */
const COMMON = {
	...ALLOWED_NAMES,
	role_capabilities: {
		type: "object",
		additionalProperties: { enum: CAPABILITIES },
		description: 'The capability that a role needs, such as {"readwrite": "realms:manage"}.',
	},
	exclusive: {
		type: "boolean",
		description: "Nobody else makes svc_… users there: the server removes those that no lease knows.",
	},
	allowed_realms: { ...NAMES, description: "Slugs of the realms that it serves. A * alone means every realm." },
	max_connections_per_realm: {
		type: "integer",
		minimum: 1,
		maximum: MAX_LIMIT,
		description: "Credentials that one realm may have at once.",
	},
} as const;

/** Lists the fields that the core adds to an engine's config_schema. */
export const coreFields = (kind: Kind): Readonly<Record<string, object>> => ({ ...COMMON, ...kind.fields });

/**
 * Checks given fields against the engine's config_schema, and adds its defaults.
 * @param current the present fields: a secret sent as its mask keeps its value
 * @throws AppError missing_field, validation_failed, invalid_ttl naming the field
 * Design: §7.1, §8
 */
export function checkFields(kind: Kind, descriptor: Descriptor, given: Fields, current: Fields | undefined): Fields {
	const { properties, required, dependentRequired } = descriptor.config_schema;
	const fields: Fields = {};
	for (const [name, { default: usual }] of Object.entries(properties)) if (usual !== undefined) fields[name] = usual;
	for (const [name, value] of Object.entries(given)) {
		if (!(Object.hasOwn(properties, name) || Object.hasOwn(coreFields(kind), name)))
			throw unknownField(kind, descriptor);
		if (value !== null) fields[name] = value;
	}
	keepSecrets(kind, descriptor, fields, current);
	const isMissing = (name: string) => fields[name] === undefined || fields[name] === "";
	const missing = required.find(isMissing);
	if (missing !== undefined) throw new AppError("missing_field", `${missing} is required`);
	for (const [name, others] of Object.entries(dependentRequired ?? {})) {
		const absent = isMissing(name) ? undefined : others.find(isMissing);
		if (absent !== undefined) throw new AppError("missing_field", `${absent} is required when ${name} is given`);
	}
	const { valid, errors } = new Validator(validationSchema(kind, descriptor), "2020-12").validate(fields);
	if (!valid) throw refusal(errors.at(-1)?.instanceLocation ?? "#");
	checkDurations(fields);
	return fields;
}

/** Fields that the core itself reads, for any engine: no secret is sent there. */
const LIMIT_FIELDS = ["max_ttl", "default_ttl", "token_ttl"];

/**
 * Replaces masks with the present values, but never sends a secret to a new destination. Nobody knows which fields of a third party's engine
 * name the destination, so there a masked secret stays only if no field has changed.
 * @throws AppError missing_field
 * Design: §13
 */
function keepSecrets(kind: Kind, descriptor: Descriptor, fields: Fields, current: Fields | undefined): void {
	const masked = Object.keys(fields).filter((name) => fields[name] === MASK && isSecret(descriptor, name));
	if (masked.length === 0) return;
	const lost = masked.find((name) => current?.[name] === undefined);
	if (lost !== undefined || current === undefined)
		throw new AppError("missing_field", `${lost} is required: there is no stored value to keep`);
	const destination = kind.destination ?? Object.keys(descriptor.config_schema.properties);
	const former = (name: string) => current[name] ?? descriptor.config_schema.properties[name]?.default;
	const moved = destination.find(
		(name) => !(masked.includes(name) || LIMIT_FIELDS.includes(name)) && !isDeepStrictEqual(fields[name], former(name)),
	);
	if (moved !== undefined) {
		throw new AppError(
			"missing_field",
			`${masked[0]} is required: ${moved} has changed, and a stored secret is never sent to a new target`,
		);
	}
	for (const name of masked) fields[name] = current[name];
}

/** Builds the schema that checks fields. Formats serve people and masking; users of a field check those. Unknown fields are refused earlier. */
function validationSchema(kind: Kind, descriptor: Descriptor): Schema {
	const { config_schema } = descriptor;
	const own = Object.entries(config_schema.properties).map(([name, { format: _, env: __, ...schema }]) => [
		name,
		schema,
	]);
	return {
		...config_schema,
		properties: { ...Object.fromEntries(own), ...coreFields(kind) },
		additionalProperties: true,
	} as Schema;
}

function refusal(location: string): AppError {
	const field = location.replace(/^#\/?/, "").split("/")[0] ?? "";
	return new AppError("validation_failed", `${field || "the configuration"} does not match the engine's config_schema`);
}

function unknownField(kind: Kind, descriptor: Descriptor): AppError {
	const known = [...Object.keys(descriptor.config_schema.properties), ...Object.keys(coreFields(kind))].join(", ");
	return new AppError("validation_failed", `the configuration has an unknown field: the fields are ${known}`);
}

/** Longest and usual life of a credential, and life of a token. */
const TTL_FIELDS = ["max_ttl", "default_ttl", "token_ttl"] as const;

function checkDurations(fields: Fields): void {
	const [max, usual] = TTL_FIELDS.map((name) => durationOf(fields, name));
	if (max !== undefined && usual !== undefined && usual > max) {
		throw new AppError("invalid_ttl", "default_ttl must not exceed max_ttl");
	}
}

/** Reads a duration field in milliseconds; undefined when it is absent. @throws AppError invalid_ttl */
function durationOf(fields: Fields, name: (typeof TTL_FIELDS)[number]): number | undefined {
	if (fields[name] === undefined) return undefined;
	try {
		return parseDuration(fields[name]);
	} catch (error) {
		throw invalidTtl(error, name);
	}
}

/** Lives of credentials where the configuration sets none, in milliseconds. Spec: ENGINES › Limits */
const USUAL_TTL_MS = 60 * 60 * 1000;
const USUAL_MAX_TTL_MS = 24 * 60 * 60 * 1000;

/** Lives of an engine's credentials under a configuration, in milliseconds. */
export interface Lives {
	usual_ms: number;
	max_ms: number;
}

/** Reads the lives of credentials from checked fields. Design: §8 */
export function livesOf(fields: Fields): Lives {
	const [max_ms, usual_ms, token_ms] = TTL_FIELDS.map((name) => durationOf(fields, name));
	return {
		usual_ms: usual_ms ?? token_ms ?? USUAL_TTL_MS,
		max_ms: max_ms ?? (token_ms === undefined ? USUAL_MAX_TTL_MS : Number.POSITIVE_INFINITY),
	};
}

/** Credentials of an engine that may be open in one realm if the configuration sets no limit. Design: §13 */
export const MAX_OPEN = 1000;

/** Credentials that may be open at once under a configuration. */
export interface OpenLimits {
	/** Of all its realms together; null when only each realm has a limit. */
	together: number | null;
	/** Of each realm; undefined when the limit of all together is the only one. */
	each_realm: number | undefined;
}

/** Reads the limits of open credentials from checked fields. Only the configuration of all realms limits each of them. Design: §13 */
export function limitsOf({ realm_id, fields }: Pick<Configuration, "realm_id" | "fields">): OpenLimits {
	const numberOr = <Other>(value: unknown, other: Other) => (typeof value === "number" ? value : other);
	const { max_connections: together, max_connections_per_realm: each } = fields;
	if (realm_id !== "") return { together: numberOr(together, MAX_OPEN), each_realm: undefined };
	const each_realm = numberOr(each, typeof together === "number" ? undefined : MAX_OPEN);
	return { together: numberOr(together, null), each_realm };
}

function isSecret(descriptor: Descriptor, name: string): boolean {
	return descriptor.config_schema.properties[name]?.format === "password";
}

/** Masks every secret among the fields. */
export function maskFields(descriptor: Descriptor, fields: Fields): Fields {
	return Object.fromEntries(
		Object.entries(fields).map(([name, value]) => [name, isSecret(descriptor, name) ? MASK : value]),
	);
}

/** Lists texts that no message may contain: the secret fields, and the password inside an address. */
export function secretsOf(descriptor: Descriptor, fields: Fields): string[] {
	return Object.entries(fields)
		.filter(([name, value]) => isSecret(descriptor, name) && typeof value === "string")
		.flatMap(([, value]) => secretsIn(String(value)));
}

/** Patterns of a password in an address: up to the last @ before a slash, or up to the first @, because not everybody escapes correctly. */
const PASSWORDS = [/^[^/]*:\/\/[^:@/]*:([^/]+)@/, /^[^/]*:\/\/[^:@/]*:([^@]+)@/];

/** Lists a secret and, if it is an address, the password in it, both encoded and decoded. */
export function secretsIn(text: string): string[] {
	const passwords = PASSWORDS.flatMap((pattern) => pattern.exec(text)?.[1] ?? []);
	return [...new Set([text, ...passwords, ...passwords.map(decodeOr)])].filter((secret) => secret !== "");
}

function decodeOr(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

/** Builds the environment that config_schema defines for the engine's process. */
export function environmentOf(descriptor: Descriptor, fields: Fields): Record<string, string> {
	const environment: Record<string, string> = {};
	for (const [name, { env }] of Object.entries(descriptor.config_schema.properties)) {
		const value = fields[name];
		if (env === undefined || value === undefined) continue;
		environment[env] = typeof value === "object" ? JSON.stringify(value) : String(value);
	}
	return environment;
}

/** Names the system that a configuration leads to: a new password or limit does not change the target. */
export function targetOf(kind: Kind, descriptor: Descriptor, fields: Fields, environment: Environment): string {
	const address = kind.address?.(fields, environment) ?? JSON.stringify(openFields(descriptor, fields));
	return `${descriptor.name}:${hash("sha256", address).slice(0, 16)}`;
}

function openFields(descriptor: Descriptor, fields: Fields): [name: string, value: unknown][] {
	return Object.entries(fields).filter(([name]) => !(isSecret(descriptor, name) || Object.hasOwn(COMMON, name)));
}
