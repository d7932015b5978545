import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { login, PASSWORD, type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

const WRONG = "not the password at all";
const MOST_FAILURES = 20;
/** Seconds of a wait that outlasts the next few requests; on a slow machine the first wait of one second may not. */
const LONG_S = 2;

let server: Server;
let client: Api;
let alice: Person;
let bob: Person;
let carol: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	[alice, bob, carol] = await Promise.all([person(client, "alice"), person(client, "bob"), person(client, "carol")]);
});
after(() => server.close());

function attempt(email: string, password: string): Promise<Answer> {
	return client.post("/auth/login", { email, password });
}

/** Fails unless the answer is throttled; returns the seconds to wait. */
function throttled(answer: Answer): number {
	refused(answer, 429, "rate_limited");
	const seconds = Number(answer.headers["retry-after"]);
	assert.ok(Number.isInteger(seconds) && seconds > 0, `Retry-After: ${String(answer.headers["retry-after"])}`);
	return seconds;
}

/** Fails to log in until the wait is long; returns the number of failures before the first wait. The spellings take turns. */
async function failUntilThrottled(spellings: readonly string[]): Promise<number> {
	let before: number | undefined;
	for (let count = 0; count < MOST_FAILURES; ) {
		const answer = await attempt(spellings[count % spellings.length] ?? "", WRONG);
		if (answer.status === 429) {
			before ??= count;
			if (throttled(answer) >= LONG_S) return before;
			await sleep(100);
		} else {
			refused(answer, 401, "invalid_credentials");
			count += 1;
		}
	}
	throw new Error(`${MOST_FAILURES} failures were not throttled`);
}

test("repeated failures of an account are throttled, and a typing error or two are not", async () => {
	const failures = await failUntilThrottled([alice.email]);
	assert.ok(failures >= 3, `throttled after ${failures} failures`);
});

test("a throttled account gets 429 whether the password is right or wrong", async () => {
	const [right, wrong] = await Promise.all([attempt(alice.email, PASSWORD), attempt(alice.email, WRONG)]);
	throttled(right);
	throttled(wrong);
	assert.equal(right.text, wrong.text);
});

test("a throttled account keeps its sessions, and others log in as ever", async () => {
	ok(await client.get("/realms", { token: alice.token }));
	await login(client, bob);
	await login(client, carol);
});

test("all spellings of an e-mail are counted together", async () => {
	const spellings = [bob.email, bob.email.toUpperCase(), ` ${bob.email} `, bob.email.replace("b", "\uff42")];
	const failures = await failUntilThrottled(spellings);
	assert.ok(failures < MOST_FAILURES / 2, `throttled after ${failures} failures`);
	for (const email of spellings) throttled(await attempt(email, PASSWORD));
});

test("an unknown e-mail is throttled after as many failures as a known one", async () => {
	const unknown = await failUntilThrottled(["nobody@example.test"]);
	const known = await failUntilThrottled([carol.email]);
	assert.equal(unknown, known);
});

test("the throttle counts failures that come at the same time", async () => {
	const answers = await Promise.all(Array.from({ length: MOST_FAILURES }, () => attempt("crowd@example.test", WRONG)));
	const refusedOnes = answers.filter(({ status }) => status === 401);
	assert.ok(refusedOnes.length < MOST_FAILURES / 2, `${refusedOnes.length} guesses were let through at once`);
	for (const answer of answers.filter(({ status }) => status !== 401)) {
		assert.ok([429, 503].includes(answer.status), answer.text);
	}
});

test("a header that claims another source does not help", async () => {
	const email = "elsewhere@example.test";
	await failUntilThrottled([email]);
	for (const name of ["x-forwarded-for", "x-real-ip", "forwarded", "cf-connecting-ip", "true-client-ip"]) {
		const headers = { [name]: name === "forwarded" ? "for=192.0.2.7" : "192.0.2.7" };
		throttled(await client.post("/auth/login", { email, password: PASSWORD }, { headers }));
	}
});
