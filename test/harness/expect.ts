import assert from "node:assert/strict";
import type { Answer } from "./client.ts";
import type { ErrorBody } from "./resources.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)$/;

/** Fails unless the answer has the status; returns its body. */
export function ok<T>(answer: Answer<T>, status = 200): T {
	assert.equal(answer.status, status, answer.text);
	return answer.body;
}

/** Fails unless the answer is the error object with this status and, if given, this code. */
export function refused(answer: Answer, status: number, code?: string): void {
	assert.equal(answer.status, status, answer.text);
	const { error } = answer.body as ErrorBody;
	fields(error, ["code", "message", "status"]);
	assert.equal(error.status, status);
	assert.match(error.message, /\S/);
	if (code !== undefined) assert.equal(error.code, code, answer.text);
}

/** Fails unless two refusals, such as 404 or 401, have the same body: it must not reveal the cause. */
export function sameRefusal(one: Answer, other: Answer): void {
	assert.equal(one.status, other.status);
	assert.equal(one.text, other.text);
	const comparable = ({ headers: { date, "x-request-id": id, "keep-alive": keep, ...rest } }: Answer): object => rest;
	assert.deepEqual(comparable(one), comparable(other));
}

/** Fails unless the object has exactly these fields. */
export function fields(value: object, expected: readonly string[]): void {
	assert.deepEqual(new Set(Object.keys(value)), new Set(expected));
}

/** Fails unless the value is a UUID as the specification writes ids. */
export function uuid(value: string): void {
	assert.match(value, UUID);
}

/** Fails unless the value is an ISO 8601 instant of the last minute. */
export function recent(value: string): void {
	assert.match(value, INSTANT);
	assert.ok(Math.abs(Date.now() - Date.parse(value)) < 60_000, `${value} is not of the last minute`);
}
