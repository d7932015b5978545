import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createKnownSources } from "../accounts/known-sources.ts";
import { createPasswordQueue } from "../accounts/password-queue.ts";
import { hashPassword } from "../crypto/password.ts";
import { anActor } from "../testing/actor.ts";
import { anEvent, aSession, MADE_AT } from "../testing/rows.ts";
import { addAccount, openTestRules } from "../testing/rules.ts";
import { createTestThrottle } from "../testing/throttle.ts";
import { withTotp } from "../testing/totp.ts";
import { linkIdentity, listIdentities, proveForLink, unlinkIdentity } from "./links.ts";
import type { Provider } from "./providers.ts";

const { store, system, keyring } = await openTestRules({ after });
const known_sources = createKnownSources({ store, keyring, system });
const needs = {
	store,
	system,
	keyring,
	known_sources,
	passwords: createPasswordQueue({ all: 2 }),
	throttle: createTestThrottle(known_sources),
	address: () => "https://svc.example.com",
};
const PASSWORD = "the password of the account";
const stored = await hashPassword(PASSWORD);

const PROVIDER = {
	...{ id: "settings-1", name: "corp", display_name: "Corp", created_by: "root", created_at: MADE_AT },
	is: { type: "oidc", settings: {} },
} as Provider;

let people = 0;
const aPerson = () => ({
	...{ issuer: "https://id.example.com", subject: `subject-${++people}` },
	...{ email: undefined, name: undefined, email_verified: false, groups: [] },
});

/** A signed-in person, with a password or at a provider. */
async function signedIn(password: string | null, given: Parameters<typeof aSession>[1] = {}) {
	const account = await addAccount(store, { password });
	const session = aSession(account.id, given);
	await store.accounts.openSession({ session, password }, anEvent());
	return anActor({ user_id: account.id, email: account.email, jti: session.jti });
}

async function link(actor: ReturnType<typeof anActor>, password: string | undefined, asserted = aPerson()) {
	const proof = await proveForLink(needs, actor, { current_password: password });
	await linkIdentity(needs, actor, proof, PROVIDER, asserted);
	return asserted;
}

const namesOf = async (actor: ReturnType<typeof anActor>) =>
	(await listIdentities(needs, actor)).identities.map(({ subject }) => subject);

test("a stolen session links nobody without the account's password", async () => {
	const actor = await signedIn(stored);
	await assert.rejects(link(actor, undefined), { code: "missing_field" });
	await assert.rejects(link(actor, "another password"), { code: "wrong_password" });
	await assert.rejects(link({ ...actor, jti: undefined, token_id: "token" }, PASSWORD), {
		code: "unsupported_operation",
	});
	assert.deepEqual(await listIdentities(needs, actor), { identities: [], has_password: true });
	const { subject } = await link(actor, PASSWORD);
	assert.deepEqual(await namesOf(actor), [subject]);
});

test("where the account has a second factor, the password alone links and unlinks no identity", async () => {
	const actor = await signedIn(stored);
	const { code, recovery_codes } = await withTotp(needs, actor, PASSWORD);
	const right = { current_password: PASSWORD };
	await assert.rejects(proveForLink(needs, actor, right, "factor_code"), {
		code: "missing_field",
		message: /^factor_code\b/,
	});
	await assert.rejects(proveForLink(needs, actor, { ...right, code: "AAAAAAAAAA" }), { code: "wrong_code" });
	await assert.rejects(proveForLink(needs, actor, { current_password: "another", code: code(1) }), {
		code: "wrong_password",
	});
	const proof = await proveForLink(needs, actor, { ...right, code: code(1) });
	await linkIdentity(needs, actor, proof, PROVIDER, aPerson());
	await assert.rejects(linkIdentity(needs, actor, proof, PROVIDER, aPerson()), { code: "wrong_code" });
	const [{ id } = { id: "" }, ...others] = (await listIdentities(needs, actor)).identities;
	assert.deepEqual(others, []);
	await assert.rejects(unlinkIdentity(needs, actor, id, right), { code: "missing_field" });
	await assert.rejects(unlinkIdentity(needs, actor, id, { ...right, code: code(1) }), { code: "wrong_code" });
	await unlinkIdentity(needs, actor, id, { ...right, code: recovery_codes[0] });
	assert.deepEqual(await namesOf(actor), []);
});

test("a password that was changed meanwhile links nobody", async () => {
	const actor = await signedIn(stored);
	const proof = await proveForLink(needs, actor, { current_password: PASSWORD });
	const change = { user_id: actor.user_id, from: stored, password: "another hash", keep: actor.jti ?? "" };
	assert.equal(await store.accounts.setPassword(change, anEvent()), "done");
	await assert.rejects(linkIdentity(needs, actor, proof, PROVIDER, aPerson()), { code: "wrong_password" });
	assert.deepEqual(await namesOf(actor), []);
});

test("without a password it takes a provider that says that the person signed in there within five minutes, and that the account is linked with", async () => {
	const now = system.now().getTime();
	const before = (ms: number) => new Date(now - ms).toISOString();
	const MINUTES = 5 * 60_000;
	const cases: [why: string, provider: string, ms: number | undefined, isLinked: boolean, good: boolean][] = [
		["just now", "corp", 0, true, true],
		["almost five minutes ago", "corp", MINUTES - 1, true, true],
		["longer ago", "corp", MINUTES, true, false],
		["at a time that it does not say", "corp", undefined, true, false],
		["at another provider", "other", 0, true, false],
		["nowhere that is known", "", 0, true, false],
		["at one that was unlinked", "corp", 0, false, false],
	];
	for (const [why, provider, ms, isLinked, good] of cases) {
		// The age of the session proves nothing.
		const created_at = before(good ? 2 * MINUTES : 0);
		const session = await signedIn(null, { provider, created_at });
		const actor = { ...session, confirmed_at: ms === undefined ? undefined : now - ms };
		if (isLinked) await arrive(actor.user_id);
		// Refused before anybody else is asked anything, not only when the link is made.
		if (good) await link(actor, undefined);
		else await assert.rejects(proveForLink(needs, actor, {}), { code: "forbidden" }, why);
		assert.equal((await namesOf(actor)).length, Number(isLinked) + Number(good), why);
	}
});

/** Links an account without a password with a person of the provider, as a login with a trusted address does. */
async function arrive(user_id: string): Promise<void> {
	const { issuer, subject } = aPerson();
	const login = {
		...{ identity: { provider: "corp", issuer, subject }, link_id: system.uuid(), session: aSession(user_id) },
		known: { pair: Buffer.alloc(32, 1), seen_at: MADE_AT, renew_before: MADE_AT },
		...{ arrival: { kind: "linked" } as const, used: [], roles: [] },
	};
	assert.equal(await store.sso.signIn(login, anEvent()), "done");
}

test("an identity is unlinked with the password, once, and by nobody else", async () => {
	const [actor, other] = [await signedIn(stored), await signedIn(stored)];
	await link(actor, PASSWORD);
	const [{ id } = { id: "" }] = (await listIdentities(needs, actor)).identities;
	await assert.rejects(unlinkIdentity(needs, other, id, { current_password: PASSWORD }), { code: "not_found" });
	await assert.rejects(unlinkIdentity(needs, actor, id, {}), { code: "missing_field" });
	await assert.rejects(unlinkIdentity(needs, actor, id, { current_password: "another password" }), {
		code: "wrong_password",
	});
	await unlinkIdentity(needs, actor, id, { current_password: PASSWORD });
	await assert.rejects(unlinkIdentity(needs, actor, id, { current_password: PASSWORD }), { code: "not_found" });
	assert.deepEqual(await namesOf(actor), []);
});

test("the last way to sign in to an account without a password stays", async () => {
	const session = await signedIn(null, { provider: "corp" });
	const actor = { ...session, confirmed_at: system.now().getTime() };
	await arrive(actor.user_id);
	const [{ id } = { id: "" }] = (await listIdentities(needs, actor)).identities;
	await assert.rejects(unlinkIdentity(needs, actor, id, {}), { code: "conflict" });
	assert.equal((await namesOf(actor)).length, 1);
});

test("only one of two accounts has an identity", async () => {
	const [actor, other] = [await signedIn(stored), await signedIn(stored)];
	const person = await link(actor, PASSWORD);
	await assert.rejects(link(other, PASSWORD, person), { name: "SsoRefusal", reason: "linked_elsewhere" });
});
