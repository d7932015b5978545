import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { anEvent, aToken } from "../../testing/rows.ts";
import { addAccount } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";
import { openWriter } from "./open.ts";

test("a revoked token that another program put back for a moment is forgotten with the next integrity check", async (t) => {
	const { store, file } = await openTestStore(t);
	const { id: user_id } = await addAccount(store);
	const token = aToken(user_id);
	await store.tokens.create(token, anEvent());
	const otherWriter = openWriter(file);
	otherWriter.exec("CREATE TEMP TABLE kept AS SELECT * FROM main.api_token");
	await store.tokens.revoke({ id: token.id, user_id }, anEvent());
	otherWriter.exec("INSERT INTO api_token SELECT * FROM temp.kept");
	await nextTurn();
	assert.equal((await store.tokens.owner(token.digest))?.user_id, user_id, "its MAC is right");
	otherWriter.exec("DELETE FROM api_token");
	otherWriter.close();
	await nextTurn();
	assert.equal((await store.tokens.owner(token.digest))?.user_id, user_id, "it is remembered");
	assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
	assert.equal(await store.tokens.owner(token.digest), undefined);
});
