import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createBulkReads } from "../../audit/bulk-reads.ts";
import { AppError } from "../../errors.ts";
import type { CallerKeys } from "../../fair-queue.ts";
import { Scheduler } from "../../http/scheduler.ts";
import { createPromotions } from "../../secrets/promotion.ts";
import { setSecret } from "../../secrets/secrets.ts";
import { createWholeReads } from "../../secrets/snapshot.ts";
import type { Caller } from "../../semaphore.ts";
import { actorOf } from "../../testing/actor.ts";
import { anEvent, aSession } from "../../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../../testing/rules.ts";
import { html, textOf } from "../html.ts";
import { createComparisons, createKeyLists } from "../large-pages.ts";
import type { Page, Visit } from "../page.ts";
import { type ComparePageNeeds, comparePage } from "./compare.ts";
import { secretsPages } from "./secrets.ts";

const KEYS = 120;

const rules = await openTestRules({ after });
const account = await addAccount(rules.store);
const session = aSession(account.id);
await rules.store.accounts.openSession({ session, password: account.password }, anEvent());
const { slug } = await addRealm(rules.store, account, { keyring: rules.keyring });

/** A scheduler that counts its steps. */
class CountingScheduler extends Scheduler {
	steps = 0;
	override step<T>(keys: CallerKeys, work: () => Promise<T>): Promise<T> {
		this.steps++;
		return super.step(keys, work);
	}
}

const scheduler = new CountingScheduler();
const large_pages = { comparisons: createComparisons(), key_lists: createKeyLists() };
const needs: ComparePageNeeds = {
	...rules,
	bulk_reads: createBulkReads(rules.store.audit),
	...{ whole_reads: createWholeReads(), promotions: createPromotions(), ...large_pages, scheduler },
	...{ enforce_expiry: false, realm_bytes: 1024 ** 3 },
};
const newActor = () => actorOf(account, { jti: session.jti });

await Promise.all(
	(["dev", "test"] as const).flatMap((environment) =>
		Array.from({ length: KEYS }, (_, at) => {
			const given = {
				environment,
				key: `KEY_${at}`,
				value: "alike",
				comment: "",
				expires_at: null,
				pre_encrypted: false,
			};
			return setSecret(needs, newActor(), slug, given);
		}),
	),
);

/** Opens a page of the realm. */
async function open(pages: ReturnType<typeof comparePage>, query: object = {}): Promise<string> {
	const endpoint = pages.find(({ method }) => method === "GET") ?? assert.fail("no page");
	const visit = { actor: newActor(), params: [slug], query, form: {}, token: html`` } as unknown as Visit;
	return textOf(((await endpoint.answer(visit)) as Page).body);
}

const compare = () => open(comparePage(needs), { from: "dev", to: "test" });

test("equal keys are compared one step at a time, so that a page without differences lets others take turns", async () => {
	const before = scheduler.steps;
	assert.match(await compare(), new RegExp(`${KEYS} keys have`));
	assert.ok(scheduler.steps - before >= KEYS, `${scheduler.steps - before} steps`);
});

test("a realm's keys are shown a few in each step", async () => {
	const before = scheduler.steps;
	assert.equal((await open(secretsPages(needs))).match(/<tr><th scope="row"/g)?.length, KEYS);
	assert.equal(scheduler.steps - before, Math.ceil(KEYS / 50));
});

test("the page of a realm's keys asks the store as many questions however many keys there are", async () => {
	let questions = 0;
	const counting = <Noun extends object>(noun: Noun): Noun =>
		new Proxy(noun, {
			get(target, name) {
				const found: unknown = Reflect.get(target, name);
				if (typeof found !== "function") return found;
				return (...given: unknown[]) => {
					questions++;
					return Reflect.apply(found, target, given);
				};
			},
		});
	const { realms, secrets, audit } = rules.store;
	const store = { ...rules.store, realms: counting(realms), secrets: counting(secrets), audit: counting(audit) };
	await open(secretsPages({ ...needs, store }));
	assert.ok(questions <= 5, `${questions} questions about ${KEYS} keys`);
});

const list = () => open(secretsPages(needs));

/** Waits until no page's pause is left. A task of a millisecond or more has one, which any is on a busy machine. */
async function noPause(sort: keyof typeof large_pages): Promise<void> {
	for (;;) {
		const began = performance.now();
		await large_pages[sort].run(async () => undefined, newActor());
		if (performance.now() - began < 1) return;
	}
}

for (const [sort, page] of [
	["comparisons", compare],
	["key_lists", list],
] as const) {
	test(`an account's ${sort} are made one at a time; the seventeenth that waits is refused`, async () => {
		await noPause(sort);
		const pending = Array.from({ length: 17 }, page);
		await nextTurn();
		assert.equal(large_pages[sort].limit.used(), 16);
		await assert.rejects(page(), (error) => {
			assert.ok(error instanceof AppError);
			assert.match(`${error.code} ${error.message}`, new RegExp(`^rate_limited .*${sort}_waiting_per_account`));
			return true;
		});
		await Promise.all(pending);
	});
}

for (const [sort, page] of [
	["comparisons", list],
	["key_lists", compare],
] as const) {
	test(`${sort} that others make leave pages of the other sort their turn, also of the same account`, async () => {
		const { promise, resolve } = Promise.withResolvers<void>();
		const caller = (name: string): Caller => ({ ...actorOf(account), payer: name, user_id: name });
		const names = ["bob", "cy", "di", account.id];
		const pending = names.map((name) => large_pages[sort].run(() => promise, caller(name)));
		await page();
		resolve();
		await Promise.all(pending);
	});
}
