import { type ConversionConfig, toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";

/** The parts of a JSON Schema that the reference reads. */
export interface JsonSchema {
	type?: string;
	properties?: Record<string, object>;
	required?: string[];
}

/** JSON Schema of the input as sent, before our defaults and transformations. */
export function schemaOf(schema: v.GenericSchema): JsonSchema {
	const { $schema: _, ...rest } = toJsonSchema(schema as never, {
		typeMode: "input",
		errorMode: "ignore",
		overrideAction: completeAction,
	});
	return rest as JsonSchema;
}

/** Adds bounds that the converter leaves out: those in bytes, and those of whole numbers. */
const completeAction: NonNullable<ConversionConfig["overrideAction"]> = ({ valibotAction, jsonSchema }) => {
	const action = valibotAction as { type: string; requirement?: unknown };
	// A character has at least one byte, so this is a bound of characters, too.
	if (action.type === "max_bytes") return { ...jsonSchema, maxLength: Number(action.requirement) };
	if (action.type === "safe_integer") {
		return { ...jsonSchema, minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
	}
	// The text of a query parameter that is documented as a number.
	if (action.type === "regex" && jsonSchema.type === "integer") {
		const { pattern: _, ...number } = jsonSchema;
		return number;
	}
	return null;
};
