import type { Api } from "./client.ts";
import { ok } from "./expect.ts";

/** The part of a JSON schema that the tests read. */
export interface Schema {
	readonly $ref?: string;
	readonly type?: string | readonly string[];
	readonly enum?: readonly unknown[];
	readonly const?: unknown;
	readonly format?: string;
	readonly minimum?: number;
	readonly maximum?: number;
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly required?: readonly string[];
	readonly items?: Schema;
	readonly additionalProperties?: boolean | Schema;
	readonly anyOf?: readonly Schema[];
	readonly oneOf?: readonly Schema[];
	readonly allOf?: readonly Schema[];
}

/** One method of one path. */
export interface Operation {
	readonly operationId?: string;
	readonly summary?: string;
	readonly tags?: readonly string[];
	readonly parameters?: readonly {
		readonly name: string;
		readonly in: string;
		readonly required?: boolean;
		readonly description?: string;
		readonly schema?: Schema;
	}[];
	readonly security?: readonly object[];
	readonly requestBody?: object;
	readonly responses: Readonly<Record<string, Answer>>;
}

interface Answer {
	readonly $ref?: string;
	readonly description?: string;
	readonly headers?: Readonly<Record<string, object>>;
	readonly content?: Readonly<Record<string, { schema?: Schema }>>;
}

/** The part of the document that the tests read. */
export interface OpenApi {
	readonly openapi: string;
	readonly info: { readonly title: string; readonly version: string };
	readonly tags?: readonly { readonly name: string; readonly description?: string }[];
	readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
	readonly components?: Readonly<Record<string, Readonly<Record<string, object>>>>;
	readonly security?: readonly object[];
}

/** A route of the running server, from its own document. */
export interface Route {
	readonly method: string;
	readonly path: string;
	readonly operation: Operation;
}

const METHODS = new Set(["get", "put", "post", "delete", "patch", "head", "options", "trace"]);

/** Fetches the document. */
export async function openApi(api: Api): Promise<OpenApi> {
	return ok(await api.get<OpenApi>("/openapi.json"));
}

/** Returns every route in the document, with its answers in place of references to them. Methods are upper case. */
export function routesOf(document: OpenApi): Route[] {
	return Object.entries(document.paths).flatMap(([path, item]) =>
		Object.entries(item)
			.filter(([method]) => METHODS.has(method))
			.map(([method, operation]) => ({
				method: method.toUpperCase(),
				path,
				operation: { ...operation, responses: answersOf(document, operation) },
			})),
	);
}

function answersOf(document: OpenApi, { responses }: Operation): Operation["responses"] {
	const answers = Object.entries(responses).map(([status, answer]) => [
		status,
		answer.$ref === undefined ? answer : (resolve(document, answer.$ref) as Answer),
	]);
	return Object.fromEntries(answers);
}

const FORMATS: Readonly<Record<string, RegExp>> = {
	"date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/,
	uuid: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/,
	email: /^[^@\s]+@[^@\s]+$/,
};

/** Returns the value's errors as `path: reason` lines; an empty list when it conforms to the schema. */
export function problems(document: OpenApi, schema: Schema, value: unknown, at = "$"): string[] {
	const inner = (next: Schema, item: unknown, where: string): string[] => problems(document, next, item, where);
	if (schema.$ref !== undefined) return inner(resolve(document, schema.$ref), value, at);
	const alternatives = schema.anyOf ?? schema.oneOf;
	if (alternatives && !alternatives.some((one) => inner(one, value, at).length === 0)) return [`${at}: no alternative`];
	return [
		...(schema.type === undefined || isOfType(value, schema.type) ? [] : [`${at}: not of type ${String(schema.type)}`]),
		...(schema.enum === undefined || schema.enum.includes(value) ? [] : [`${at}: not in the enum`]),
		...(typeof value === "string" && !(FORMATS[schema.format ?? ""]?.test(value) ?? true)
			? [`${at}: not of the format ${schema.format}`]
			: []),
		...(typeof value === "number" && (value < (schema.minimum ?? value) || value > (schema.maximum ?? value))
			? [`${at}: out of range`]
			: []),
		...(schema.const === undefined || schema.const === value ? [] : [`${at}: not the constant`]),
		...(schema.allOf ?? []).flatMap((part) => inner(part, value, at)),
		...(Array.isArray(value) && schema.items
			? value.flatMap((item, index) => inner(schema.items ?? {}, item, `${at}[${index}]`))
			: []),
		...(isObject(value) ? objectProblems(schema, value, at, inner) : []),
	];
}

function objectProblems(
	{ properties = {}, required = [], additionalProperties }: Schema,
	value: Record<string, unknown>,
	at: string,
	inner: (schema: Schema, item: unknown, at: string) => string[],
): string[] {
	const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name}: missing`);
	const wrong = Object.entries(value).flatMap(([name, item]) => {
		const schema = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
		if (schema === false) return [`${at}.${name}: not in the schema`];
		return typeof schema === "object" ? inner(schema, item, `${at}.${name}`) : [];
	});
	return [...missing, ...wrong];
}

/**
 * Follows a reference inside the document.
 * @throws Error when it leads nowhere
 */
export function resolve(document: OpenApi, reference: string): Schema {
	let found: unknown = document;
	for (const part of reference.replace(/^#\//, "").split("/")) {
		found = isObject(found) ? found[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
	}
	if (!isObject(found)) throw new Error(`the reference ${reference} leads nowhere`);
	return found;
}

function isOfType(value: unknown, type: string | readonly string[]): boolean {
	if (typeof type !== "string") return type.some((one) => isOfType(value, one));
	if (type === "integer") return Number.isInteger(value);
	if (type === "array") return Array.isArray(value);
	if (type === "object") return isObject(value);
	return type === (value === null ? "null" : typeof value);
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
