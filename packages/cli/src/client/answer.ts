import { Failure } from "../failure.ts";

/** A JSON object from the server. Its fields are checked where they are read. */
export type Answer = Readonly<Record<string, unknown>>;

/** A string field, by the specification. @throws Failure when it is not a string */
export function text(answer: Answer, field: string): string {
	const value = answer[field];
	if (typeof value !== "string") throw unexpected(field);
	return value;
}

/** An optional field as text; `""` when it is missing or null. */
export function optional(answer: Answer, field: string): string {
	const value = answer[field];
	return value === undefined || value === null ? "" : String(value);
}

/** The e-mail that `?names=true` adds for an id, or `machine:realm/name`; the id itself of somebody who is gone. */
export function whoOf(answer: Answer, field: string): string {
	const machine = optional(answer, "machine");
	return optional(answer, "email") || (machine === "" ? optional(answer, field) : `machine:${machine}`);
}

/** The e-mail next to an id, such as that of `created_by`, or `machine:realm/name`; the id itself of somebody who is gone. */
export function emailOf(answer: Answer, field: string): string {
	const machine = optional(answer, `${field}_machine`);
	return optional(answer, `${field}_email`) || (machine === "" ? text(answer, field) : `machine:${machine}`);
}

/** A number field, by the specification. @throws Failure when it is not a number */
export function count(answer: Answer, field: string): number {
	const value = answer[field];
	if (typeof value !== "number") throw unexpected(field);
	return value;
}

/** A field that holds an object. @throws Failure when it does not */
export function object(answer: Answer, field: string): Answer {
	const value = answer[field];
	if (!isAnswer(value)) throw unexpected(field);
	return value;
}

/** A field that holds a list of objects. @throws Failure when it does not */
export function rows(answer: Answer, field: string): Answer[] {
	const value = answer[field];
	if (!Array.isArray(value) || !value.every(isAnswer)) throw unexpected(field);
	return value;
}

/** Tells whether a value is a JSON object, not a list and not null. */
export function isAnswer(value: unknown): value is Answer {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unexpected(field: string): Failure {
	return new Failure("unreachable", `the answer holds no ${field} as this client knows it`, {
		hint: "is it an svc server of this version? `svc health` shows its version",
		code: "unexpected_answer",
	});
}
