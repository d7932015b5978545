import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, refused } from "../harness/expect.ts";
import { PEOPLE, person, type Slapd, skipWithoutSlapd, startSlapd } from "../peers/slapd.ts";
import { type LdapWorld, startLdapWorld } from "./ldap-world.ts";

const real = { skip: skipWithoutSlapd };
const PASSWORD = "canary of a password";
/** Number of failures of one person from one source that have no consequence. Design: §7.2 */
const FREE = 5;
const MOST_GUESSES = 20;
/** Seconds of a wait that outlasts the next request. */
const LONG_S = 4;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: LdapWorld;
let slapd: Slapd;

before(async () => {
	if (skipWithoutSlapd !== false) return;
	const names = ["alice", "carol"].map((name) => person(name, PASSWORD));
	slapd = await startSlapd({ entries: [...names, person("bob", "bob's password")].join("") });
	ends.defer(slapd.stop);
	world = await startLdapWorld();
	ends.defer(world.close);
	const { ldaps_url: url, ca: ca_cert, bind_dn, bind_password } = slapd;
	await world.set("corp", { url, ca_cert, bind_dn, bind_password });
});

/** Fails unless the login is throttled with a number of seconds; right and wrong passwords get the same answer. */
async function isThrottled(username: string, password: string): Promise<void> {
	const answer = await world.signIn("corp", username, password);
	refused(answer, 429, "rate_limited");
	const seconds = Number(answer.headers["retry-after"]);
	assert.ok(Number.isInteger(seconds) && seconds > 0, `Retry-After: ${String(answer.headers["retry-after"])}`);
}

/** Guesses until the wait takes some seconds; returns the number of guesses before the first wait. The spellings take turns. */
async function guess(spellings: readonly string[]): Promise<number> {
	let guesses = 0;
	let before: number | undefined;
	while (guesses < MOST_GUESSES) {
		const answer = await world.signIn("corp", spellings[guesses % spellings.length] ?? "", "a wrong password");
		const wait_s = Number(answer.headers["retry-after"] ?? 0);
		if (answer.status === 401) guesses++;
		else before ??= guesses;
		// On a slow machine the first waits may be over before the next person asks.
		if (before !== undefined && wait_s >= LONG_S) return before;
		if (wait_s > 0) await sleep(100);
	}
	throw new Error(`${guesses} wrong passwords were looked at`);
}

test("after five wrong passwords a person's right one is not looked at, and other people come in", real, async () => {
	const guesses = await guess(["alice"]);
	assert.ok(guesses >= FREE && guesses <= FREE + 2, `throttled after ${guesses}`);
	await isThrottled("alice", PASSWORD);
	await isThrottled("alice", "a wrong password");
	ok(await world.signIn("corp", "bob", "bob's password"));
});

test("however a person's name is spelled, guesses are counted together", real, async () => {
	const spellings = [
		`uid=carol,${PEOPLE}`,
		String.raw`uid=\63arol,${PEOPLE}`,
		"uid = carol , ou = people , dc = test",
		`userid=CAROL,${PEOPLE.toUpperCase()}`,
		`0.9.2342.19200300.100.1.1=\uff43arol,${PEOPLE}`,
	];
	const { id } = ok(await world.signIn("corp", "carol", PASSWORD)).user;
	for (const name of spellings) assert.equal(ok(await world.signIn("corp", name, PASSWORD)).user.id, id, name);
	const guesses = await guess(spellings);
	assert.ok(guesses >= FREE && guesses <= FREE + 2, `throttled after ${guesses}`);
	for (const name of ["carol", ...spellings]) await isThrottled(name, PASSWORD);
	ok(await world.signIn("corp", `uid=bob,${PEOPLE}`, "bob's password"));
});
