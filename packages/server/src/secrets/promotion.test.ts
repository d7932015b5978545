import assert from "node:assert/strict";
import { after, test } from "node:test";
import { AppError } from "../errors.ts";
import { actorOf } from "../testing/actor.ts";
import { anEvent, aSession } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { createPromotions, type PromotionNeeds, promoteSecrets } from "./promotion.ts";
import { setSecret } from "./secrets.ts";

const rules = await openTestRules({ after });
const promotions = createPromotions();
/** Promotions under way: the store holds each until the test releases it. */
const held: (() => void)[] = [];
const store = {
	...rules.store,
	secrets: {
		...rules.store.secrets,
		promote: async (...args: Parameters<typeof rules.store.secrets.promote>) => {
			await new Promise<void>((resolve) => held.push(resolve));
			return rules.store.secrets.promote(...args);
		},
	},
};
const needs: PromotionNeeds = { ...rules, store, promotions, enforce_expiry: false, realm_bytes: 1024 ** 3 };

/** Makes an account with a realm that holds one secret. */
async function somebody() {
	const account = await addAccount(rules.store);
	const session = aSession(account.id);
	await rules.store.accounts.openSession({ session, password: account.password }, anEvent());
	const newActor = () => actorOf(account, { jti: session.jti });
	const { slug } = await addRealm(rules.store, account, { keyring: rules.keyring });
	const secret = { key: "KEY", value: "text", comment: "", expires_at: null, pre_encrypted: false };
	await setSecret(needs, newActor(), slug, { ...secret, environment: "dev" });
	const promote = () =>
		promoteSecrets(needs, newActor(), slug, { from: "dev", to: "test", secrets: [{ key: "KEY" }] }).then(
			() => "done",
			(error: unknown) => (error instanceof AppError ? error.code : String(error)),
		);
	return { promote };
}

/** Releases every promotion that the store holds, now or later, and counts the most it held at once. */
async function letGo(pending: readonly Promise<string>[]): Promise<{ codes: string[]; most: number }> {
	let isOver = false;
	let most = 0;
	const all = Promise.all(pending).finally(() => {
		isOver = true;
	});
	while (!isOver) {
		await new Promise((resolve) => setTimeout(resolve, 5));
		most = Math.max(most, held.length);
		for (const release of held.splice(0)) release();
	}
	return { codes: await all, most };
}

test("an account's promotions run one at a time, so only one holds its values in memory; too many are refused", async () => {
	const { promote } = await somebody();
	const { codes, most } = await letGo(Array.from({ length: 20 }, promote));
	assert.equal(most, 1);
	assert.deepEqual(
		[codes.filter((code) => code === "done").length, codes.filter((code) => code === "rate_limited").length],
		[17, 3],
	);
	assert.equal(promotions.limit.refused?.(), 3);
});

test("one promotion runs at a time, and other accounts do not wait for all of a busy account's", async () => {
	const busy = await somebody();
	const other = await somebody();
	const order: string[] = [];
	const noted = async (who: string, promotion: Promise<string>) => {
		const code = await promotion;
		order.push(who);
		return code;
	};
	const pending = Array.from({ length: 10 }, () => noted("busy", busy.promote()));
	const { codes, most } = await letGo([...pending, noted("other", other.promote())]);
	assert.equal(most, 1);
	assert.deepEqual(new Set(codes), new Set(["done"]));
	assert.ok(order.indexOf("other") < 3, order.join());
});
