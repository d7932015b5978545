import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openTestStore } from "../../../testing/store.ts";
import { openWriter } from "../open.ts";
import { MAX_FORGOTTEN } from "./leases.ts";

const { store, file } = await openTestStore({ after });
const { leases } = store;

test("more than is forgotten in one step is forgotten too, and the counts go down with it", async () => {
	const many = 2 * MAX_FORGOTTEN + 7;
	const tool = openWriter(file);
	tool
		.prepare(
			`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO lease (id, engine, target, name, scope, realm_id, realm, config_id, config_realm_id, role, user_id, state, expires_at, fence, created_at, closed_at)
			SELECT 'many ' || i, 'many', 'many', i, '', '', '', '', '', '', '', 'revoked', '', '', '', '2020' FROM n`,
		)
		.run(many);
	tool.close();
	const count = () => leases.count({ realm_id: "", engine: "many", state: "" });
	assert.equal(await count(), many);
	assert.equal(await leases.forget("2021"), many);
	assert.equal(await count(), 0);
});
