import assert from "node:assert/strict";
import { after, test } from "node:test";
import { AppError } from "../errors.ts";
import { actorOf } from "../testing/actor.ts";
import { anEvent, aSession } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { createRewrites, deleteSecret, restoreSecret } from "./deletion.ts";
import { rollbackSecret, setSecret } from "./secrets.ts";

const rules = await openTestRules({ after });
/** Changes that the store holds until the test releases them. */
const held: (() => void)[] = [];
const hold = async <T>(answer: T): Promise<T> => {
	await new Promise<void>((resolve) => held.push(resolve));
	return answer;
};
const secrets = { ...rules.store.secrets, remove: () => hold(true), restore: () => hold("not_found" as const) };
const store = { ...rules.store, secrets: { ...secrets, set: () => hold("realm_gone" as const) } };
const needs = { ...rules, store, enforce_expiry: false, realm_bytes: 1024 ** 3 };

/** Makes an account with a realm that holds a secret. */
async function somebody() {
	const account = await addAccount(rules.store);
	const { slug } = await addRealm(rules.store, account, { keyring: rules.keyring });
	const secret = { key: "KEY", value: "text", comment: "", expires_at: null, pre_encrypted: false };
	const session = aSession(account.id);
	await rules.store.accounts.openSession({ session, password: account.password }, anEvent());
	const actor = () => actorOf(account, { jti: session.jti });
	const name = { slug, key: "KEY", environment: "dev" as const };
	await setSecret({ ...needs, store: rules.store }, actor(), slug, { ...secret, environment: "dev" });
	return { actor, name };
}

const codeOf = (change: Promise<unknown>) =>
	change.then(
		() => "done",
		(error: unknown) => (error instanceof AppError ? error.code : String(error)),
	);

test("a history is moved or written again one at a time, accounts take turns, and too much that waits is refused", async () => {
	const [busy, other] = [await somebody(), await somebody()];
	const rewrites = createRewrites();
	const all = { ...needs, rewrites };
	const order: string[] = [];
	const noted = (who: string, change: Promise<unknown>) => codeOf(change).then((code) => order.push(`${who} ${code}`));
	const changes = [
		...Array.from({ length: 70 }, () => noted("busy", deleteSecret(all, busy.actor(), busy.name))),
		noted("other", restoreSecret(all, other.actor(), other.name, undefined)),
		noted("other", rollbackSecret(all, other.actor(), other.name, 1)),
	];
	let isOver = false;
	const over = Promise.all(changes).finally(() => {
		isOver = true;
	});
	while (!isOver) {
		await new Promise((resolve) => setTimeout(resolve, 2));
		assert.ok(held.length <= 1, `${held.length} at once`);
		held.shift()?.();
	}
	await over;
	assert.equal(order.filter((one) => one === "busy rate_limited").length, 5);
	assert.ok(order.indexOf("other not_found") < 10, order.join());
	assert.equal(rewrites.limit.refused?.(), 5);
});
