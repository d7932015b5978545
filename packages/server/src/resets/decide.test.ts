import assert from "node:assert/strict";
import { test } from "node:test";
import { decideRecovery } from "./decide.ts";

const USER = { password: "a hash", disabled_at: null, instance_admin: false };

test("when no enabled instance admin is left, any account becomes one, enabled if it was not", () => {
	const done = { outcome: "done", had_password: true, made_admin: true };
	assert.deepEqual(decideRecovery(USER, 0), { ...done, enabled: false });
	assert.deepEqual(decideRecovery({ ...USER, disabled_at: "2030" }, 0), { ...done, enabled: true });
	assert.deepEqual(decideRecovery(USER, 1), { outcome: "not_admin" });
	assert.deepEqual(decideRecovery(USER, 1, true), { ...done, enabled: false, made_admin: false });
	assert.deepEqual(decideRecovery(undefined, 0), { outcome: "no_user" });
});
