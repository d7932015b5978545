import assert from "node:assert/strict";
import { test } from "node:test";
import { decideInvitation } from "./decide.ts";

test("an owner's invitations do not count those of others, up to a bound of all owners that the realm has had", () => {
	const decide = (count: number, own: number) =>
		decideInvitation(
			{ created_by: "owner" },
			{ hasAccount: false, count: 0, realms: [{ owner_id: "owner", count, own }] },
		);
	assert.equal(decide(499, 49), "done");
	assert.equal(decide(499, 50), "realm_limit_reached");
	assert.equal(decide(500, 0), "realm_limit_reached");
});
