import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault, Step } from "../../test/peers/kubernetes-fake.ts";
import { ACCOUNTS, type Bench, BINDINGS, LEASE, metadataOf, startBench } from "./testing.ts";

const ACCOUNT = `${ACCOUNTS}/${LEASE.name}`;
const BINDING = `${BINDINGS}/${LEASE.name}-viewer`;
const PARAMS = { role: "viewer", _lease: LEASE };

/** The beginning of each step's message. */
const BEGINNINGS = {
	create_account: `creating service account: POST ${ACCOUNTS}: `,
	create_binding: `creating role binding: POST ${BINDINGS}: `,
	request_token: `requesting token: POST ${ACCOUNT}/token: `,
} as const;
type CreateStep = keyof typeof BEGINNINGS;
const STEPS = Object.keys(BEGINNINGS) as CreateStep[];

/** Makes generate fail. Returns the message without the step's beginning. */
async function failure({ fake, generate }: Bench, step: CreateStep, fault?: Fault): Promise<string> {
	if (fault !== undefined) fake.fault(step, fault);
	fake.steps();
	const error = await generate(PARAMS).then(
		() => assert.fail("generate succeeded"),
		(reason: Error) => reason,
	);
	fake.fault(step, undefined);
	assert.equal(error.name, "EngineError");
	assert.ok(error.message.startsWith(BEGINNINGS[step]), error.message);
	assert.ok(!error.message.includes(fake.token));
	return error.message.slice(BEGINNINGS[step].length);
}

test("a step that is refused names method, path, status and body, and what came before it is deleted", async (t) => {
	const bench = await startBench(t);
	const undone: Record<CreateStep, Step[]> = {
		create_account: [],
		create_binding: ["delete_account"],
		request_token: ["delete_binding", "delete_account"],
	};
	for (const step of STEPS) {
		const body = { kind: "Status", reason: "Forbidden" };
		const said = await failure(bench, step, { does: "answer", status: 403, body });
		assert.equal(said, 'status 403: {"kind":"Status","reason":"Forbidden"}');
		assert.deepEqual(bench.fake.steps(), [...STEPS.slice(0, STEPS.indexOf(step) + 1), ...undone[step]]);
		assert.deepEqual([...bench.fake.objects], []);
	}
});

test("somebody else's account or binding of the same name is left alone", async (t) => {
	const bench = await startBench(t);
	const foreign = { metadata: { name: LEASE.name, labels: {} } };
	bench.fake.objects.set(ACCOUNT, foreign);
	assert.match(await failure(bench, "create_account"), /^status 409: .*AlreadyExists/);
	assert.deepEqual([...bench.fake.objects.values()], [foreign]);
	bench.fake.objects.clear();
	bench.fake.objects.set(BINDING, foreign);
	assert.match(await failure(bench, "create_binding"), /^status 409: .*AlreadyExists/);
	assert.deepEqual([...bench.fake.objects], [[BINDING, foreign]]);
});

test("a step that may have been done is undone too", async (t) => {
	const table: [Fault, RegExp][] = [
		[{ does: "answer", status: 500, body: "etcdserver: request timed out", acts: true }, /^status 500: etcdserver/],
		[{ does: "answer", status: 504, acts: true }, /^status 504$/],
		[{ does: "drop", acts: true }, /\(UND_ERR_SOCKET\)$/],
		[{ does: "break" }, /\(UND_ERR_SOCKET\)$/],
		[{ does: "hang", acts: true }, / 1 s$/],
		[{ does: "drip", ms: 100 }, / 1 s$/],
	];
	const undo = async (step: CreateStep) => {
		const bench = await startBench(t, { timeout_ms: 1000 });
		for (const [fault, message] of table) {
			assert.match(await failure(bench, step, fault), message);
			assert.deepEqual([...bench.fake.objects], [], `${step} ${fault.does}`);
		}
	};
	await Promise.all(STEPS.map(undo));
});

test("an undo finds its objects gone, and that is what was wanted", async (t) => {
	const bench = await startBench(t);
	for (const step of STEPS) {
		assert.equal(await failure(bench, step, { does: "answer", status: 503 }), "status 503");
		assert.deepEqual([...bench.fake.objects], []);
	}
});

test("leftovers that could not be deleted are reported after the first failure", async (t) => {
	const bench = await startBench(t);
	bench.fake.fault("delete_binding", { does: "answer", status: 403, body: "no" });
	bench.fake.fault("delete_account", { does: "drop" });
	const said = await failure(bench, "request_token", { does: "answer", status: 418, body: "a teapot" });
	const [first, binding, account] = said.split("; ");
	assert.equal(first, "status 418: a teapot");
	assert.ok(binding?.endsWith(`deleting role binding: DELETE ${BINDING}: status 403: no`), said);
	assert.match(account ?? "", new RegExp(`^deleting service account: DELETE ${ACCOUNT}: .*\\(UND_ERR_SOCKET\\)$`));
});

test("the whole clean-up has the time of one call", async (t) => {
	const timeout_ms = 5000;
	const bench = await startBench(t, { timeout_ms });
	for (const step of ["delete_binding", "delete_account"] as const) bench.fake.fault(step, { does: "hang" });
	let isLate = false;
	// Timers end in order even on a busy machine.
	const timer = setTimeout(() => {
		isLate = true;
	}, 2 * timeout_ms);
	const said = await failure(bench, "request_token", { does: "answer", status: 400 });
	clearTimeout(timer);
	assert.ok(!isLate);
	assert.match(said, /^status 400; .*\bdeleting role binding: .*; deleting service account: /);
});

test("an answer that is no token is a failure, also when it says that it succeeded", async (t) => {
	const bench = await startBench(t);
	const expirationTimestamp = "2030-01-01T00:00:00Z";
	const bodies: (string | object)[] = [
		"",
		"OK",
		"null",
		"[]",
		{},
		{ status: "token" },
		{ status: { token: "a.b.c" } },
		{ status: { expirationTimestamp } },
		{ status: { token: "", expirationTimestamp } },
		{ status: { token: 5, expirationTimestamp } },
		{ status: { token: "a b\n", expirationTimestamp } },
		{ status: { token: "a".repeat(16_385), expirationTimestamp } },
		{ status: { token: "a.b.c", expirationTimestamp: "tomorrow" } },
		{ status: { token: "a.b.c", expirationTimestamp: 1_893_456_000 } },
	];
	for (const body of bodies) {
		const said = await failure(bench, "request_token", { does: "answer", status: 201, body });
		assert.match(said, /\banswer\b.*\btoken\b/);
		assert.deepEqual([...bench.fake.objects], []);
	}
});

test("accounts that the API server did not describe are bound and deleted all the same", async (t) => {
	const { fake, generate } = await startBench(t);
	for (const body of ["", "nonsense", { metadata: null }, { metadata: { uid: 7 } }, "x".repeat(8 * 1024 * 1024)]) {
		fake.fault("create_account", { does: "answer", status: 201, body, acts: true });
		const { service_account } = await generate({ role: "viewer" });
		assert.equal(metadataOf(fake, `${BINDINGS}/${service_account}-viewer`).ownerReferences, undefined);
	}
});

test("a body is shown on one line, cut off after 2 KiB, without the engine's token", async (t) => {
	const bench = await startBench(t);
	const { token } = bench.fake;
	const shown = (body: string, status = 400) => failure(bench, "create_account", { does: "answer", status, body });
	assert.equal(await shown("a\r\nb\u001b[31m\u202e\u0000c\n"), "status 400: a\\u{d}\\u{a}b\\u{1b}[31m\\u{202e}\\u{0}c");
	assert.equal(await shown(`Bearer ${token}, ${token}`), "status 400: Bearer ********, ********");
	const straddling = await shown(`${"x".repeat(2040)}${token}`);
	assert.equal(straddling, `status 400: ${"x".repeat(2040)}********`);
	assert.equal(await shown("€".repeat(1000)), `status 400: ${"€".repeat(682)}…`);
	assert.equal(await shown("\u0001".repeat(5000)), `status 400: ${"\\u{1}".repeat(409)}\\u{…`);
	for (const status of [400, 500]) {
		const huge = await shown(`${token} ${"y".repeat(20 * 1024 * 1024)}`, status);
		assert.ok(huge.startsWith(`status ${status}: ******** yyy`) && huge.length < 2100, `${huge.length}`);
	}
	assert.equal(await shown(" \n "), "status 400");
});

test("a redirect is not followed", async (t) => {
	const [bench, elsewhere] = [await startBench(t), await startBench(t)];
	for (const status of [301, 302, 307, 308]) {
		const headers = { location: `${elsewhere.fake.url}${ACCOUNTS}` };
		assert.equal(await failure(bench, "create_account", { does: "answer", status, headers }), `status ${status}`);
	}
	assert.deepEqual(elsewhere.fake.calls, []);
	assert.deepEqual([...bench.fake.objects], []);
});

test("without a connection nothing was asked, and there is nothing to delete", async (t) => {
	const bench = await startBench(t);
	await bench.fake.stop();
	assert.match(await failure(bench, "create_account"), /\(ECONNREFUSED\)$/);
});

test("an API server whose certificate does not convince is asked nothing", async (t) => {
	const other = await startBench(t);
	const table: [Parameters<typeof startBench>[1], string][] = [
		[{ env: { SVC_ORCH_CA_CERT: other.fake.ca } }, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
		[{ env: { SVC_ORCH_CA_CERT: undefined } }, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
		[{ fake: { names: ["api.example.com"] } }, "ERR_TLS_CERT_ALTNAME_INVALID"],
	];
	for (const [options, code] of table) {
		const bench = await startBench(t, options);
		assert.ok((await failure(bench, "create_account")).endsWith(`(${code})`));
		assert.deepEqual(bench.fake.calls, []);
	}
});

test("verification can be left out, in the two ways of the specification", async (t) => {
	for (const env of [
		{ SVC_ORCH_CA_CERT: "" },
		{ SVC_ORCH_CA_CERT: undefined, SVC_ORCH_SKIP_TLS: "true" },
		{ SVC_ORCH_SKIP_TLS: "true" },
	]) {
		const { ping } = await startBench(t, { env, fake: { names: ["api.example.com"] } });
		await ping();
	}
});
