/* The checks of histories, on short ones made by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { read } from "../harness/sources.ts";
import { findLost, findTwoHolders } from "./credentials.ts";
import { FAULTS } from "./faults.ts";
import { findLogGaps, findSteps, findVersionGaps } from "./growing.ts";
import type { Kind, Operation } from "./history.ts";
import { findDisorder } from "./roles.ts";

/** Makes an operation on one subject. */
function an(kind: Kind, [start_ms, end_ms]: readonly [number, number], more: Partial<Operation> = {}): Operation {
	const own = { subject: "a", node: 0, token: undefined, value: undefined, version: undefined, request_id: undefined };
	return { kind, ...own, status: 200, outcome: "done", start_ms, end_ms, ...more };
}

const write = (version: number, when: readonly [number, number], more: Partial<Operation> = {}) =>
	an("write", when, { version, value: `value ${version}`, ...more });
const readOf = (version: number, when: readonly [number, number], more: Partial<Operation> = {}) =>
	an("read", when, { version, value: `value ${version}`, ...more });
const lost = { outcome: "unknown", end_ms: Number.POSITIVE_INFINITY, status: 0 } as const;

test("a version may be read from the start of its write, and no older one after its answer", () => {
	const first = write(1, [0, 1]);
	assert.deepEqual(findSteps([first, write(2, [2, 5]), readOf(2, [3, 4]), readOf(1, [3, 6])]), []);
	assert.match(findSteps([first, write(2, [2, 3]), readOf(1, [4, 5])]).join(), /^a version goes back: read/);
	assert.match(
		findSteps([first, write(2, [2, 9]), readOf(2, [3, 4]), readOf(1, [5, 6])]).join(),
		/^a version goes back/,
	);
	assert.match(findSteps([first, readOf(2, [2, 3]), write(2, [4, 5])]).join(), /written later/);
});

test("no version is written twice, and each has the value of its write", () => {
	assert.match(findSteps([write(1, [0, 3]), write(1, [1, 4])]).join(), /^two writes have one version/);
	const first = write(1, [0, 1]);
	assert.match(findSteps([first, readOf(2, [2, 3], { value: "value 1" })]).join(), /of another version/);
	assert.match(findSteps([first, readOf(2, [2, 3], { value: "odd" })]).join(), /nobody wrote/);
	const unanswered = write(2, [0, 1], { ...lost, version: undefined });
	assert.deepEqual(findSteps([first, unanswered, readOf(2, [5, 6])]), []);
	const voided = write(2, [0, 1], { outcome: "void", version: undefined });
	assert.match(findSteps([first, voided, readOf(2, [5, 6])]).join(), /whose write was refused/);
});

test("a token is refused after its revocation, and not before", () => {
	const use = (when: readonly [number, number], more: Partial<Operation> = {}) =>
		readOf(1, when, { token: "t", ...more });
	const revoke = an("revoke", [4, 5], { subject: "t" });
	const refused = { outcome: "refused", status: 401 } as const;
	const first = write(1, [0, 1]);
	assert.deepEqual(
		findSteps([first, use([2, 3]), revoke, use([4, 6]), use([4, 6], refused), use([6, 7], refused)]),
		[],
	);
	assert.match(findSteps([first, revoke, use([6, 7])]).join(), /^a revoked token is used/);
	assert.match(findSteps([first, use([2, 3], refused), revoke]).join(), /^a token is refused/);
	assert.deepEqual(findSteps([first, { ...revoke, ...lost }, use([6, 7]), use([6, 7], refused)]), []);
});

test("answers about a role have an order, in which each counts between its start and its end", () => {
	const bind = (when: readonly [number, number], more = {}) => an("bind", when, { status: 201, ...more });
	const unbind = (when: readonly [number, number], more = {}) => an("unbind", when, more);
	const look = (status: number, when: readonly [number, number]) => an("look", when, { status });
	assert.deepEqual(
		findDisorder([bind([0, 1]), look(200, [2, 3]), unbind([4, 7]), look(200, [5, 6]), look(404, [5, 6])]),
		[],
	);
	assert.match(findDisorder([bind([0, 1]), look(404, [2, 3])]).join(), /^no order explains look/);
	assert.match(findDisorder([bind([0, 1]), unbind([2, 3]), look(200, [4, 5])]).join(), /look/);
	assert.match(findDisorder([bind([0, 1]), bind([2, 3])]).join(), /^no order explains bind/);
	// Seen, then not: the one that is not seen any more was not undone by anybody.
	assert.match(findDisorder([bind([0, 9]), look(200, [1, 2]), look(404, [3, 4])]).join(), /look/);
	assert.deepEqual(findDisorder([bind([0, 1], lost), look(404, [2, 3]), look(200, [4, 5])]), []);
	assert.match(findDisorder([bind([0, 1], lost), look(200, [2, 3]), look(404, [4, 5])]).join(), /look/);
	assert.match(findDisorder([bind([0, 1], { outcome: "void" }), look(200, [2, 3])]).join(), /look/);
});

test("the log has each answered operation once, no void one, and every version", () => {
	const done = readOf(1, [0, 1], { request_id: "r" });
	const event = { type: "secret.read", request_id: "r", key: "a", version: 1 };
	assert.deepEqual(findLogGaps([done], [event]), []);
	assert.match(findLogGaps([done], []).join(), /^0 events in place of 1/);
	assert.match(findLogGaps([done], [event, event]).join(), /^2 events/);
	assert.match(findLogGaps([{ ...done, outcome: "void" }], [event]).join(), /^1 events in place of 0/);
	const set = (version: number) => ({ type: "secret.set", realm: "r", key: "a", version });
	assert.deepEqual(findVersionGaps([set(2), set(1)]), []);
	assert.match(findVersionGaps([set(1), set(3)]).join(), /version 3 of r a in place of 2/);
	assert.match(findVersionGaps([set(1), set(1)]).join(), /version 1 of r a in place of 2/);
});

test("a credential has one remover at a time, and ends once", () => {
	const removal = (pid: number, start_ms: number, end_ms?: number) => ({ name: "a", pid, start_ms, end_ms });
	assert.deepEqual(findTwoHolders([removal(1, 0, 2), removal(2, 3, 4), removal(1, 5), removal(2, 6, 7)]), []);
	assert.match(findTwoHolders([removal(1, 0, 4), removal(2, 3, 5)]).join(), /^two servers remove a/);
	const log = ["engine.generate", "lease.created"].map((type) => ({ type, name: "a", lease_id: "l" }));
	const revoked = { type: "lease.revoked", lease_id: "l" };
	const [made, ended] = [an("generate", [0, 1]), an("end", [2, 3])];
	assert.deepEqual(findLost([made], log, new Set("a")), []);
	assert.deepEqual(findLost([made, ended], [...log, revoked], new Set()), []);
	assert.match(findLost([made, ended], log, new Set()).join(), /contradicts end a/);
	assert.match(findLost([made, ended], [...log, revoked], new Set("a")).join(), /a is at the target/);
	assert.match(findLost([made], [...log, revoked, revoked], new Set()).join(), /lease l ended 2 times/);
	assert.match(findLost([made], [], new Set()).join(), /contradicts generate a/);
});

test("each planted fault has its places in the sources", () => {
	for (const { file, from } of Object.values(FAULTS).flat())
		assert.equal(read(`packages/server/src/${file}`).split(from).length, 2, `${file}: ${from}`);
});
