import assert from "node:assert/strict";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { countEvents, eventsAfter } from "../../../testing/events.ts";
import { anEvent, newId } from "../../../testing/rows.ts";
import { addAccount } from "../../../testing/rules.ts";
import { openTestStore, writeAsStore } from "../../../testing/store.ts";

const { store, file } = await openTestStore({ after });
const { tokens } = store;
const ada = await addAccount(store, { email: "ada@example.com", name: "Ada" });

/** A chain of tokens, each made by the one before, written straight into the file: an older store may hold more than an account may have now. */
function addChain(length: number, maker: string | null = null): string[] {
	const ids = Array.from({ length }, newId);
	const db = new Database(file);
	writeAsStore(db);
	const insert = db.prepare(
		"INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, created_at, maker_id) VALUES (?, ?, '', '', randomblob(32), 'read', '', ?)",
	);
	db.transaction(() => {
		for (const [index, id] of ids.entries()) insert.run(id, ada.id, ids[index - 1] ?? maker);
	})();
	db.close();
	return ids;
}

test("revoking a token ends what it made, deeper than SQLite would delete by itself, in one event that says how many", async () => {
	const ids = addChain(5000);
	const [first = "", second = "", third = ""] = ids;
	assert.equal(await tokens.countLineage(second), 4999);
	assert.deepEqual(
		(await tokens.listLineage(second, second, 2)).map(({ id }) => id),
		ids.slice(2, 4),
	);
	const [other = ""] = addChain(1, first);
	const start = await countEvents(store);
	const revoke = (id: string, within?: string) => tokens.revoke({ id, user_id: ada.id, within }, anEvent());
	assert.deepEqual([await revoke(first, second), await revoke(other, second)], ["outside", "outside"]);
	assert.equal(await countEvents(store), start);
	assert.equal(await revoke(third, second), "done");
	const [event] = await eventsAfter(store, start);
	assert.equal(event?.[1].also_ended, 4997);
	assert.deepEqual(
		(await tokens.listLineage(first, "", 10)).map(({ id }) => id),
		[first, second, other],
	);
	assert.equal(await revoke(first, first), "done");
	assert.equal(await tokens.byId(other), undefined);
	assert.equal(await tokens.countLineage(first), 0);
});
