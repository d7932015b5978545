import assert from "node:assert/strict";
import { after, test } from "node:test";
import { AppError } from "../errors.ts";
import { actorOf } from "../testing/actor.ts";
import { anEvent, aSession } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { emptyTables } from "../testing/store.ts";
import { getSecret, type SecretNeeds, setSecret } from "./secrets.ts";

const rules = await openTestRules({ after });
const account = await addAccount(rules.store);
const session = aSession(account.id);
await rules.store.accounts.openSession({ session, password: account.password }, anEvent());
const actor = actorOf(account, { jti: session.jti });

test("a cached secret is expired from the moment at which it expires", async () => {
	const { store, system, keyring } = rules;
	const needs = (enforce_expiry: boolean): SecretNeeds => ({ ...rules, enforce_expiry, realm_bytes: 1024 ** 2 });
	const { slug } = await addRealm(store, account, { keyring });
	const expires_at = new Date(system.now().getTime() + 1000).toISOString();
	const name = { slug, environment: "prod", key: "KEY" } as const;
	await setSecret(needs(true), actor, slug, { ...name, value: "v", comment: "", expires_at, pre_encrypted: false });
	const read = (isEnforced: boolean) => getSecret(needs(isEnforced), actor, name, "api");
	await read(true);
	emptyTables(rules, ["secret_version"]);
	system.advance(999);
	assert.equal((await read(true)).value, "v");
	assert.equal((await read(false)).is_expired, false);
	system.advance(1);
	await assert.rejects(read(true), (error) => error instanceof AppError && error.code === "not_found");
	assert.equal((await read(false)).is_expired, true);
});
