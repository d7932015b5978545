import * as v from "valibot";

/** Version of this contract. */
export const SDK_VERSION = 1;

/** What an engine is for, as `describe` says it; `lease_hint` is only ever in plugin.json. */
const ENGINE_CAPABILITIES = ["dynamic_credentials", "secret_generation", "secret_validation", "lease_hint"] as const;

export type EngineCapability = (typeof ENGINE_CAPABILITIES)[number];

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const VERSION = /^\d{1,5}\.\d{1,5}\.\d{1,5}(?:[-+][0-9A-Za-z.-]{1,64})?$/;
const VARIABLE = /^SVC_[A-Z0-9_]{1,60}$/;

const Name = v.pipe(v.string(), v.regex(NAME));
const Version = v.pipe(v.string(), v.regex(VERSION));
const Title = v.pipe(v.string(), v.nonEmpty(), v.maxLength(100));
const Description = v.pipe(v.string(), v.maxLength(1000));

/**
 * A field of an engine's configuration, in the words of JSON Schema. `format: "password"` marks a secret; `env` names the variable in which
 * the engine's process gets the field. A field without `env` stays in the server.
 */
const ConfigField = v.looseObject({
	type: v.picklist(["string", "integer", "number", "boolean", "array", "object"]),
	description: v.optional(v.string()),
	format: v.optional(v.string()),
	env: v.optional(v.pipe(v.string(), v.regex(VARIABLE))),
});

const ConfigSchema = v.looseObject({
	type: v.literal("object"),
	properties: v.record(v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,49}$/)), ConfigField),
	required: v.optional(v.array(v.string()), []),
});

/**
 * plugin.json. `executable` (a file beside it), `arguments` and `sha256` (of that file) are how a third party's engine is started.
 * Spec: ENGINES › Engine descriptor. Design: §8.
 */
export const Descriptor = v.object({
	name: Name,
	version: Version,
	display_name: Title,
	description: Description,
	sdk_version: v.literal(SDK_VERSION),
	min_core_version: Version,
	capabilities: v.array(v.pipe(v.string(), v.regex(/^(host|engine):[a-z_:]{1,50}$/))),
	tier: v.pipe(v.string(), v.maxLength(40)),
	config_schema: ConfigSchema,
	default_roles: v.array(
		v.object({ name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(100)), config: v.record(v.string(), v.unknown()) }),
	),
	executable: v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/))),
	arguments: v.optional(v.array(v.pipe(v.string(), v.maxLength(1000))), []),
	sha256: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))),
});

export type Descriptor = v.InferOutput<typeof Descriptor>;

/** What an engine answers to `describe`. Spec: ENGINES › Plugin protocol. */
export const DescribeData = v.looseObject({
	name: Name,
	version: Version,
	display_name: Title,
	description: Description,
	capabilities: v.pipe(v.array(v.picklist(ENGINE_CAPABILITIES)), v.minLength(1)),
	sdk_version: v.optional(v.literal(SDK_VERSION)),
	min_core_version: v.optional(Version),
});

export type DescribeData = v.InferOutput<typeof DescribeData>;

/** A descriptor that cannot be used. The message names the field and what it must be. */
export class DescriptorError extends Error {
	override readonly name = "DescriptorError";
}

/** Reads plugin.json. @throws DescriptorError */
export function parseDescriptor(value: unknown): Descriptor {
	return read(Descriptor, value, "plugin.json");
}

/** Reads what an engine answered to `describe`. @throws DescriptorError */
export function parseDescribeData(value: unknown): DescribeData {
	return read(DescribeData, value, "describe");
}

function read<Schema extends v.GenericSchema>(schema: Schema, value: unknown, what: string): v.InferOutput<Schema> {
	const result = v.safeParse(schema, value, { abortEarly: true });
	if (result.success) return result.output;
	const [issue] = result.issues;
	const field = issue.path?.map((step) => String(step.key)).join(".") ?? "it";
	throw new DescriptorError(`${what}: ${field} is missing or not what the contract asks for (${issue.type})`);
}

/** The `engine:` capabilities of a descriptor, without the prefix: what the engine is for. */
export function engineCapabilities(descriptor: Pick<Descriptor, "capabilities">): EngineCapability[] {
	return ENGINE_CAPABILITIES.filter((capability) => descriptor.capabilities.includes(`engine:${capability}`));
}

/** What an engine that has this descriptor answers to `describe`. */
export function describeData(descriptor: Descriptor): DescribeData {
	const { name, version, display_name, description } = descriptor;
	const capabilities = engineCapabilities(descriptor).filter((capability) => capability !== "lease_hint");
	return { name, version, display_name, description, capabilities };
}

/**
 * Compares what an engine says of itself with its descriptor.
 * @returns how they differ, or undefined
 */
export function disagreement(descriptor: Descriptor, said: DescribeData): string | undefined {
	for (const field of ["name", "version"] as const) {
		if (said[field] !== descriptor[field]) return `describe answers another ${field} than plugin.json has`;
	}
	const declared = engineCapabilities(descriptor);
	if (!said.capabilities.every((capability) => declared.includes(capability))) {
		return "describe answers a capability that plugin.json does not declare";
	}
	return undefined;
}
