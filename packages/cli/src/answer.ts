import { Failure } from "./failure.ts";

/** A JSON object of the server's. What is needed of it is checked where it is read. */
export type Answer = Readonly<Record<string, unknown>>;

/** A field that the specification makes a string. @throws Failure when it is none */
export function text(answer: Answer, field: string): string {
	const value = answer[field];
	if (typeof value !== "string") throw unexpected(field);
	return value;
}

/** A field that may be missing or null, as text; `""` then. */
export function optional(answer: Answer, field: string): string {
	const value = answer[field];
	return value === undefined || value === null ? "" : String(value);
}

/** A field that the specification makes a number. @throws Failure when it is none */
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

/** Whether it is a JSON object, not a list and not null. */
export function isAnswer(value: unknown): value is Answer {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unexpected(field: string): Failure {
	return new Failure("unreachable", `the answer holds no ${field} as this client knows it`, {
		hint: "is it an svc server of this version? `svc health` shows its version",
		code: "unexpected_answer",
	});
}
