import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { NewVersion } from "../../../secrets/model.ts";
import { aDeletion, anEvent, aVersion, MADE_AT } from "../../../testing/rows.ts";
import { addAccount, addRealm } from "../../../testing/rules.ts";
import { seeded } from "../../../testing/seeded.ts";
import { openTestStore } from "../../../testing/store.ts";
import { openReader } from "../open.ts";

const { store, file } = await openTestStore({ after });
const { secrets } = store;

const newRealm = async () => (await addRealm(store, await addAccount(store))).id;
const sized = (bytes: number) => Buffer.alloc(bytes, 7);
const at = (seconds: number) => new Date(Date.parse(MADE_AT) + seconds * 1000).toISOString();
const set = (realm_id: string, key: string, given: Partial<NewVersion> = {}) =>
	secrets.set(aVersion(realm_id, key, given), anEvent({ realm_id }));
const remove = (realm_id: string, key: string) =>
	secrets.remove({ ...aDeletion(), realm_id, environment: "dev", key }, anEvent({ realm_id }));
const ended = (realm_id: string, key: string) => ({ realm_id, environment: "dev", key }) as const;
/** Counts recorded for a realm, and counts of its rows. */
function countsOf(realm_id: string): [said: unknown, recounted: unknown] {
	const reader = openReader(file);
	const said = reader.prepare("SELECT bytes, keys FROM realm WHERE id = ?").get(realm_id);
	const recounted = reader
		.prepare(
			"SELECT (SELECT coalesce(sum(length(value) + 512), 0) FROM secret JOIN secret_version ON secret_id = secret.id WHERE realm_id = @id) + " +
				"(SELECT coalesce(sum(length(value) + 512), 0) FROM deleted_secret AS d JOIN deleted_version ON deletion_id = d.id WHERE realm_id = @id) AS bytes, " +
				"(SELECT count(*) FROM secret WHERE realm_id = @id) AS keys",
		)
		.get({ id: realm_id });
	reader.close();
	return [said, recounted];
}

test("whatever is written, rolled back, promoted, deleted, restored and purged, a realm is said to hold what it holds", async () => {
	const below = seeded(16);
	const realm = await newRealm();
	const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T;
	const environments = ["dev", "prod"] as const;
	for (let step = 0; step < 400; step++) {
		const key = pick(["a", "b", "c"]);
		const created_at = at(step * pick([1, 100]));
		const given = { environment: pick(environments), value: sized(below(3000)), created_at };
		const what = below(12);
		if (what === 0) await remove(realm, key);
		else if (what === 10)
			await secrets.restore({ ...ended(realm, key), id: undefined, since: "" }, anEvent({ realm_id: realm }));
		else if (what === 11) {
			const input = { ...ended(realm, key), by: MADE_AT, only_deleted: below(2) === 0 };
			await secrets.purge(input, anEvent({ realm_id: realm }));
		} else if (what === 1) {
			const source = await secrets.get(realm, "dev", key);
			const row = aVersion(realm, key, { ...given, environment: "prod", realm_bytes: 30_000 });
			const from = { environment: "dev", version: source?.version ?? 1 } as const;
			await secrets.promote([{ row, facts: {}, from }], anEvent());
		} else await set(realm, key, { ...given, realm_bytes: pick([20_000, 30_000]) });
		if (step % 40 === 0) assert.deepEqual(...countsOf(realm));
	}
	assert.deepEqual(...countsOf(realm));
});
