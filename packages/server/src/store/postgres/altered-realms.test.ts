import assert from "node:assert/strict";
import { test } from "node:test";
import { skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { aDeletion, anEvent, aVersion } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openPostgresTestStore, runSql } from "./testing.ts";

test("a count of a realm that another program wrote is noticed", { skip: skipWithoutPostgres }, async (t) => {
	const server = await startPostgres();
	t.after(() => server.stop());
	const { store, database } = await openPostgresTestStore(t, server);
	const { id: realm_id } = await addRealm(store, await addAccount(store));
	for (const key of ["KEY", "KEY", "OTHER"]) await store.secrets.set(aVersion(realm_id, key), anEvent());
	const name = { realm_id, environment: "dev", key: "KEY" } as const;
	assert.equal(await store.secrets.remove({ ...aDeletion(), ...name }, anEvent()), true);
	for (const count of ["bytes", "keys"]) {
		assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
		await runSql(server, database, `UPDATE svc.realm SET ${count} = ${count} + 1`);
		assert.deepEqual((await store.checkIntegrity()).content, ["the counts of realms"]);
		await runSql(server, database, `UPDATE svc.realm SET ${count} = ${count} - 1`);
	}
});
