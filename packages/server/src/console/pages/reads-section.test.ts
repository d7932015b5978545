import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createLongQuestions } from "../../semaphore.ts";
import { actorOf } from "../../testing/actor.ts";
import { addAccount, addRealm, openTestRules } from "../../testing/rules.ts";
import { textOf } from "../html.ts";
import { readsSection } from "./reads-section.ts";

const rules = await openTestRules({ after });
const account = await addAccount(rules.store);
const { slug } = await addRealm(rules.store, account, { keyring: rules.keyring });

/** Shows the section of a secret whose reads the store counts like this. */
async function shown(counted: { reads: number[]; isCut: boolean }): Promise<string> {
	const audit = { ...rules.store.audit, readsPerDay: async () => counted };
	const needs = { ...rules, store: { ...rules.store, audit }, long_questions: createLongQuestions() };
	return textOf(await readsSection(needs, actorOf(account), { slug, key: "HOT", environment: "prod" }));
}

test("a secret with too many reads today does not look as if nobody had read it", async () => {
	assert.match(await shown({ reads: Array<number>(30).fill(0), isCut: false }), /\b0 reads in 30 days/);
	assert.match(await shown({ reads: [7, 8], isCut: true }), /\b15 reads in the last 2 of 30 days/);
	const none = await shown({ reads: [], isCut: true });
	assert.match(none, /too many reads/);
	assert.doesNotMatch(none, /\b0 (?:reads|of)/);
});
