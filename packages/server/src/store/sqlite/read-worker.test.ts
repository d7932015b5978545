import assert from "node:assert/strict";
import { after, test } from "node:test";
import { anEvent, MADE_AT } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";

const { store } = await openTestStore({ after });
const { id: realm_id } = await addRealm(store, await addAccount(store));
await Promise.all(Array.from({ length: 2000 }, () => store.audit.append(anEvent())));

const RARE = { scopes: [{}], realm: undefined, type: "none.*", actors: undefined };

test("reads of a realm do not wait for questions about the whole log", async () => {
	const short = () => store.secrets.pairs(realm_id, "dev", "prod", MADE_AT);
	const long = () => store.audit.list(RARE, undefined, 10);
	await Promise.all([short(), long()]);
	const answered: string[] = [];
	const note = (name: string) => () => void answered.push(name);
	const questions = Array.from({ length: 200 }, () => long().then(note("log")));
	await short().then(note("realm"));
	assert.ok(answered.length < 100, `${answered.length} answers came first`);
	await Promise.all(questions);
});
