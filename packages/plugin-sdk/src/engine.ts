import type { Fields } from "@svc/protocol";

/** An engine's methods. A missing method is answered with an error. */
export interface Engine {
	/** The content of plugin.json. */
	descriptor: unknown;
	/** The beginning of the error for unusable params; `invalid params` by default. */
	invalidParams?: string;
	/** Returns when the engine can work. @throws EngineError saying why it cannot */
	ping?(params: Fields): void | Promise<void>;
	/** Makes a credential or a value. @throws EngineError */
	generate?(params: Fields): Fields | Promise<Fields>;
	/** Checks a value, or revokes a credential. @throws EngineError */
	validate?(params: Fields): Fields | Promise<Fields>;
	/** Lists the engine's needs at its target, as `{privileges}`, for engines that declare `engine:privileges`. @throws EngineError */
	privileges?(params: Fields): Fields | Promise<Fields>;
	/** Lists the managed names at the target, as `{names}`, for engines that declare `engine:list`. @throws EngineError */
	list?(params: Fields): Fields | Promise<Fields>;
}

/** A refusal or failure whose message is the response's `error`, word for word. Spec: ENGINES › Errors. */
export class EngineError extends Error {
	override readonly name = "EngineError";
}

/** Params of the wrong shape. The answer begins with the engine's own prefix; the message never quotes the params. */
export class ParamsError extends Error {
	override readonly name = "ParamsError";
}

/**
 * Reads an optional text param; absent and null are undefined.
 * @throws ParamsError when it is no string
 */
export function optionalText(params: Fields, name: string): string | undefined {
	const value = Object.hasOwn(params, name) ? params[name] : undefined;
	if (value === undefined || value === null) return undefined;
	if (typeof value !== "string") throw new ParamsError(`${name} must be a string`);
	return value;
}

/**
 * Reads an optional list of texts; absent and null are an empty list.
 * @throws ParamsError when it is no list of strings
 */
export function optionalTexts(params: Fields, name: string): string[] {
	const value = Object.hasOwn(params, name) ? params[name] : undefined;
	if (value === undefined || value === null) return [];
	if (!Array.isArray(value) || !value.every((entry): entry is string => typeof entry === "string")) {
		throw new ParamsError(`${name} must be a list of strings`);
	}
	return value;
}
