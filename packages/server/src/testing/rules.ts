import type { Account } from "../accounts/model.ts";
import type { VerifyNeeds } from "../audit/audit.ts";
import { type Keyring, openKeyring } from "../crypto/keyring.ts";
import type { Role } from "../policy/model.ts";
import type { Realm } from "../realms/model.ts";
import { createLongQuestions, createVerifications, type QuestionNeeds } from "../semaphore.ts";
import type { Store } from "../store/store.ts";
import { aBinding, aNewRealm, anAccount, anEvent, aRealm } from "./rows.ts";
import { type Cleanup, openTestStore, type TestStore } from "./store.ts";
import { createTestSystem, type TestSystem } from "./system.ts";

/** Dependencies of nearly every rule, on the real store. */
export interface TestRules extends TestStore, QuestionNeeds, Pick<VerifyNeeds, "verifications" | "openEverything"> {
	system: TestSystem;
	keyring: Keyring;
}

/** Opens a store with its own keyring. */
export async function openTestRules(cleanup: Cleanup): Promise<TestRules> {
	const opened = await openTestStore(cleanup, undefined, false);
	const system = createTestSystem();
	const keyring = await openKeyring({
		keys: opened.store.keys,
		guard: opened.store.guard,
		master: Buffer.alloc(32, 1),
		system,
	});
	const semaphores = { long_questions: createLongQuestions(), verifications: createVerifications() };
	return { ...opened, system, keyring, ...semaphores, openEverything: async () => ({ unopened: [] }) };
}

/** Adds an account; the first of a store becomes its instance admin. */
export async function addAccount(store: Store, given: Partial<Account> = {}): Promise<Account> {
	const account = anAccount(given);
	await store.accounts.register(account, anEvent({ type: "auth.register", actor: account.id }));
	return account;
}

/** Adds a realm with a record key, which the keyring, if given, can open. */
export async function addRealm(
	store: Store,
	owner: Pick<Account, "id">,
	given: Partial<Realm> & { keyring?: Keyring } = {},
): Promise<Realm> {
	const { keyring, ...fields } = given;
	const realm = aRealm(owner.id, fields);
	const event = anEvent({ type: "realm.created", actor: owner.id, realm_id: realm.id, realm: realm.slug });
	if (keyring === undefined) await store.realms.create(aNewRealm(realm), event);
	else await keyring.withNewKey("record", realm.id, (key) => store.realms.create(aNewRealm(realm, key), event));
	return realm;
}

/** Gives an account a role in a realm. */
export async function addBinding(store: Store, realm: Realm, account: Account, role: Role): Promise<void> {
	await store.policy.bind(aBinding(realm.id, account.id, { role }), anEvent());
}
