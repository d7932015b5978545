import * as v from "valibot";

/** Version of this contract. */
export const SDK_VERSION = 1;

/** Bytes of the longest plugin.json. */
export const MAX_DESCRIPTOR_BYTES = 256 * 1024;

/** An engine's purposes, as in `describe`, and its further abilities, as in plugin.json. */
const ENGINE_CAPABILITIES = [
	"dynamic_credentials",
	"secret_generation",
	"secret_validation",
	"lease_hint",
	"list",
	"privileges",
] as const;

export type EngineCapability = (typeof ENGINE_CAPABILITIES)[number];

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const VERSION = /^\d{1,5}\.\d{1,5}\.\d{1,5}(?:[-+][0-9A-Za-z.-]{1,64})?$/;
const VARIABLE = /^SVC_[A-Z0-9_]{1,60}$/;

/** A text of at most this many characters. Only messages written here are shown: valibot's own quote the input. */
const text = (longest: number) => v.pipe(v.string(), v.maxLength(longest, `has more than ${longest} characters`));

const Name = v.pipe(
	v.string(),
	v.regex(NAME, "is not 1 to 40 lowercase letters, digits and hyphens that begin with a letter"),
);
const Version = v.pipe(v.string(), v.regex(VERSION, "is not a version such as 0.1.0"));
const Title = v.pipe(text(100), v.nonEmpty("is empty"));
const Description = text(1000);

/**
 * A field of an engine's configuration, in JSON Schema's terms. `format: "password"` marks a secret; `env` names the variable by which
 * the engine's process receives the field. A field without `env` stays in the server.
 */
const ConfigField = v.looseObject({
	type: v.picklist(["string", "integer", "number", "boolean", "array", "object"]),
	description: v.optional(v.string()),
	format: v.optional(v.string()),
	env: v.optional(
		v.pipe(v.string(), v.regex(VARIABLE, "is not SVC_ and capital letters, digits and underscores, at most 64")),
	),
});

const FieldName = v.pipe(
	v.string(),
	v.regex(
		/^[a-z][a-z0-9_]{0,49}$/,
		"is not 1 to 50 lowercase letters, digits and underscores that begin with a letter",
	),
);

const ConfigSchema = v.pipe(
	v.looseObject({
		type: v.literal("object"),
		properties: v.record(FieldName, ConfigField),
		required: v.optional(v.array(v.string()), []),
		dependentRequired: v.optional(v.record(FieldName, v.array(v.string()))),
	}),
	v.check(
		({ properties, required }) => required.every((name) => Object.hasOwn(properties, name)),
		"requires a field that is not among its properties",
	),
);

const Role = v.object({ name: Title, config: v.record(v.string(), v.unknown()) });

const Roles = v.pipe(
	v.array(Role),
	v.check((roles) => new Set(roles.map(({ name }) => name)).size === roles.length, "has two roles of one name"),
);

const Capability = v.pipe(
	v.string(),
	v.regex(/^(host|engine):[a-z_:]{1,50}$/, "is not a capability such as engine:secret_generation"),
);

const FileName = v.pipe(
	v.string(),
	v.regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/, "is not the name of a file in the same folder"),
);

const Sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "is not 64 lowercase hex characters"));

/**
 * plugin.json. `executable` (a file next to it), `arguments` and `sha256` (of that file) start a third party's engine.
 * Spec: ENGINES › Engine descriptor. Design: §8.
 */
export const Descriptor = v.object({
	name: Name,
	version: Version,
	display_name: Title,
	description: Description,
	sdk_version: v.literal(SDK_VERSION),
	min_core_version: Version,
	capabilities: v.array(Capability),
	tier: text(40),
	config_schema: ConfigSchema,
	default_roles: Roles,
	executable: v.optional(FileName),
	arguments: v.optional(v.array(text(1000)), []),
	sha256: v.optional(Sha256),
});

export type Descriptor = v.InferOutput<typeof Descriptor>;

/** An engine's answer to `describe`. Spec: ENGINES › Plugin protocol. */
export const DescribeData = v.looseObject({
	name: Name,
	version: Version,
	display_name: Title,
	description: Description,
	capabilities: v.pipe(v.array(v.picklist(ENGINE_CAPABILITIES)), v.minLength(1, "is empty")),
	sdk_version: v.optional(v.literal(SDK_VERSION)),
	min_core_version: v.optional(Version),
});

export type DescribeData = v.InferOutput<typeof DescribeData>;

/** An unusable descriptor. The message names the field and its fault, and never quotes it. */
export class DescriptorError extends Error {
	override readonly name = "DescriptorError";
}

/** Reads plugin.json. @throws DescriptorError */
export function parseDescriptor(value: unknown): Descriptor {
	return read(Descriptor, value, "plugin.json");
}

/** Reads an engine's answer to `describe`. @throws DescriptorError */
export function parseDescribeData(value: unknown): DescribeData {
	return read(DescribeData, value, "describe");
}

function read<Schema extends v.GenericSchema>(schema: Schema, value: unknown, what: string): v.InferOutput<Schema> {
	const result = v.safeParse(schema, value, { abortEarly: true });
	if (result.success) return result.output;
	const [issue] = result.issues;
	const field = issue.path?.map((step) => String(step.key)).join(".") ?? "it";
	throw new DescriptorError(`${what}: ${field} ${fault(issue)}`);
}

function fault(issue: v.BaseIssue<unknown>): string {
	if (issue.kind === "validation") return issue.message;
	return issue.received === "undefined" ? "is missing" : `is not ${issue.expected}`;
}

/** Lists the `engine:` capabilities of a descriptor, without the prefix. */
export function engineCapabilities(descriptor: Pick<Descriptor, "capabilities">): EngineCapability[] {
	return ENGINE_CAPABILITIES.filter((capability) => descriptor.capabilities.includes(`engine:${capability}`));
}

/** Capabilities that `describe` may omit. */
const BESIDES: readonly EngineCapability[] = ["lease_hint", "list", "privileges"];

/** Returns the answer to `describe` of an engine with this descriptor. Spec: ENGINES › Plugin protocol. */
export function describeData(descriptor: Descriptor): DescribeData {
	const { name, version, display_name, description } = descriptor;
	const capabilities = engineCapabilities(descriptor).filter((capability) => !BESIDES.includes(capability));
	return { name, version, display_name, description, capabilities };
}

/**
 * Compares an engine's `describe` with its descriptor: name, version and purposes. Texts for people may differ.
 * @returns the difference, or undefined
 */
export function disagreement(descriptor: Descriptor, said: DescribeData): string | undefined {
	for (const field of ["name", "version"] as const) {
		if (said[field] !== descriptor[field]) return `describe answers another ${field} than plugin.json has`;
	}
	const declared = engineCapabilities(descriptor);
	if (!said.capabilities.every((capability) => declared.includes(capability))) {
		return "describe answers a capability that plugin.json does not declare";
	}
	const { capabilities } = describeData(descriptor);
	if (!capabilities.every((capability) => said.capabilities.includes(capability))) {
		return "describe leaves out a capability that plugin.json declares";
	}
	return undefined;
}
