import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rotateDataKey } from "../crypto/rotation.ts";
import { anEvent, aSession } from "../testing/rows.ts";
import { addAccount, openTestRules } from "../testing/rules.ts";
import { createKnownSources, knownSourceCutoff } from "./known-sources.ts";
import { MAX_KNOWN_SOURCES } from "./model.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const HOME = "192.0.2.1";

const { store, system, keyring } = await openTestRules({ after });
const sources = createKnownSources({ store, keyring, system });
const { accounts } = store;

async function signIn({ id, email, password }: Awaited<ReturnType<typeof addAccount>>, ip: string): Promise<void> {
	const known = sources.note(email, ip);
	assert.ok(await accounts.openSession({ session: aSession(id), password, known }, anEvent()));
}

test("a source is known for the account that signed in from there, and for no other, and of nobody none is", async () => {
	const [ada, bob] = [await addAccount(store), await addAccount(store)];
	await signIn(ada, HOME);
	assert.equal(await sources.knows(ada.email, HOME), true);
	assert.equal(await sources.knows(bob.email, HOME), false);
	assert.equal(await sources.knows(ada.email, "192.0.2.2"), false);
	assert.equal(await sources.knows("nobody@example.com", HOME), false);
});

test("an IPv6 /64 is one source", async () => {
	const ada = await addAccount(store);
	await signIn(ada, "2001:db8:0:7::1");
	assert.equal(await sources.knows(ada.email, "2001:db8:0:7::/64"), true);
	assert.equal(await sources.knows(ada.email, "2001:db8:0:8::/64"), false);
});

test("a source is known for thirty days after the last sign-in, which is written down once a day", async () => {
	const ada = await addAccount(store);
	await signIn(ada, HOME);
	system.advance(DAY_MS - 1);
	await signIn(ada, HOME);
	system.advance(29 * DAY_MS);
	assert.equal(await sources.knows(ada.email, HOME), true);
	system.advance(1);
	assert.equal(await sources.knows(ada.email, HOME), false, "the second one was too early to be written");
	await signIn(ada, HOME);
	system.advance(DAY_MS + 1);
	await signIn(ada, HOME);
	system.advance(30 * DAY_MS - 1);
	assert.equal(await sources.knows(ada.email, HOME), true);
});

test("the newest thirty-two of an account are kept", async () => {
	const [ada, bob] = [await addAccount(store), await addAccount(store)];
	await signIn(bob, HOME);
	for (let host = 0; host <= MAX_KNOWN_SOURCES; host++) {
		await signIn(ada, `198.51.100.${host}`);
		system.advance(1000);
	}
	const known = (host: number) => sources.knows(ada.email, `198.51.100.${host}`);
	assert.deepEqual(await Promise.all([known(0), known(1), known(MAX_KNOWN_SOURCES)]), [false, true, true]);
	assert.equal(await sources.knows(bob.email, HOME), true);
});

test("a new password, disabling and taking access back make every source a stranger, but the one of the change", async () => {
	const ada = await addAccount(store);
	const where = async () => [await sources.knows(ada.email, HOME), await sources.knows(ada.email, "192.0.2.9")];
	const both = async () => {
		for (const ip of [HOME, "192.0.2.9"]) await signIn({ ...ada, password: "changed" }, ip);
		assert.deepEqual(await where(), [true, true]);
	};
	await signIn(ada, "192.0.2.9");
	const known = sources.note(ada.email, HOME);
	await accounts.setPassword({ user_id: ada.id, from: "a hash", password: "changed", keep: "", known }, anEvent());
	assert.deepEqual(await where(), [true, false]);
	await both();
	const revocation = { user_id: ada.id, keep: "", links_since: undefined, now_ms: 0 };
	await store.revocations.revoke({ ...revocation, realm_id: "realm" }, anEvent());
	assert.deepEqual(await where(), [true, true], "of one realm nothing that signs in is revoked");
	await store.revocations.revoke({ ...revocation, realm_id: undefined }, anEvent());
	assert.deepEqual(await where(), [false, false]);
	await both();
	await accounts.setDisabled({ user_id: ada.id, disabled_at: system.now().toISOString() }, anEvent());
	assert.deepEqual(await where(), [false, false]);
});

test("a session that is not opened makes nothing known", async () => {
	const ada = await addAccount(store);
	const known = sources.note(ada.email, HOME);
	assert.equal(await accounts.openSession({ session: aSession(ada.id), password: "another", known }, anEvent()), false);
	assert.equal(await sources.knows(ada.email, HOME), false);
});

test("a source that was written under a session key that is retired is known as before", async () => {
	const ada = await addAccount(store);
	await signIn(ada, HOME);
	await rotateDataKey({ keys: store.keys, keyring }, "session", "", anEvent({ type: "key.rotated" }));
	assert.equal(await sources.knows(ada.email, HOME), true);
	await signIn(ada, "192.0.2.9");
	assert.equal(await sources.knows(ada.email, "192.0.2.9"), true);
});

test("the database holds no address, and no two accounts' rows for one source are alike", async () => {
	const pairs = ["ada@example.com", "bob@example.com"].map((email) => sources.note(email, HOME).pair);
	assert.ok(pairs.every((pair) => pair.length === 32 && !pair.includes(HOME)));
	assert.notDeepEqual(pairs[0], pairs[1]);
});

test("rows that are too old are dropped, and the others stay", async () => {
	const [ada, bob] = [await addAccount(store), await addAccount(store)];
	system.advance(1);
	await signIn(ada, HOME);
	system.advance(30 * DAY_MS);
	await accounts.dropKnownSources(knownSourceCutoff(system.now()));
	await signIn(bob, HOME);
	system.advance(1);
	assert.equal(await accounts.dropKnownSources(knownSourceCutoff(system.now())), 1);
	assert.equal(await sources.knows(bob.email, HOME), true);
});
