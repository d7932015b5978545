import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError } from "../../errors.ts";
import { anEvent, aVersion } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";
import { openWriter } from "./open.ts";

const isAltered = (error: unknown) => error instanceof AppError && error.code === "row_altered";

/** Changes that would hide a secret, or show an older value, in a list of all. */
const FORGERIES: Record<string, string> = {
	"a secret that has expired": "UPDATE secret_version SET expires_at = '2000' WHERE version = 2",
	"a secret that was deleted": "UPDATE secret SET deleted_at = '2000'",
	"a secret whose current version is an older one": "UPDATE secret SET version = 1",
	"a current version that was taken away": "DELETE FROM secret_version WHERE version = 2",
	"a current version that has another number": "UPDATE secret_version SET version = 3 WHERE version = 2",
	"a secret with another name": "UPDATE secret SET key = 'OTHER'",
};

/** Names that are few enough for the thread that answers requests, and too many. */
const SIZES = { few: 1, many: 500 };

for (const [what, sql] of Object.entries(FORGERIES)) {
	for (const [size, count] of Object.entries(SIZES)) {
		test(`${what} by another program's hand is refused among ${size}, not left out`, async (t) => {
			const { store, file } = await openTestStore(t);
			const { secrets } = store;
			const { id } = await addRealm(store, await addAccount(store));
			const set = (key: string) => secrets.set(aVersion(id, key), anEvent({ realm_id: id }));
			await Promise.all(Array.from({ length: count }, (_, at) => set(`KEY-${at}`)));
			await set("KEY-0");
			await secrets.set(aVersion(id, "KEY-0", { environment: "prod" }), anEvent({ realm_id: id }));
			assert.equal((await secrets.currentVersions(id, "dev", "2001")).length, 3 * count);
			assert.equal((await secrets.pairs(id, "dev", "prod", "2001")).length, 6 * count);
			const otherWriter = openWriter(file);
			otherWriter.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
			otherWriter.exec(`${sql} ${/ WHERE /.test(sql) ? "AND secret_id" : "WHERE id"} = (SELECT min(id) FROM secret)`);
			otherWriter.close();
			await nextTurn();
			await assert.rejects(async () => secrets.currentVersions(id, "dev", "2001"), isAltered);
			await assert.rejects(async () => secrets.pairs(id, "dev", "prod", "2001"), isAltered);
		});
	}
}
