import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { MAKER_KINDS, RIGHT_KINDS } from "./comparison.ts";
import { verifyRoute } from "./verify-route.ts";

test("the answer's schema lists every kind of row and every kind of maker", () => {
	const { answer } = verifyRoute({} as Parameters<typeof verifyRoute>[0]);
	const event = { seq: 1, timestamp: "2030-01-01T00:00:00.000Z", type: "secret.set" };
	const found = {
		...{ status: "intact", message: "", events: 1, checkpoints: 0, anchored: false, last_seq: 1, last_hash: "" },
		differing: RIGHT_KINDS.length,
		differences: RIGHT_KINDS.map((kind) => ({ kind, id: "i", problem: "unknown" })),
		strange: MAKER_KINDS.map((kind) => ({ ...event, kind, id: "i", problem: "unknown" })),
		altered: [],
	};
	assert.deepEqual(v.safeParse(answer, found).issues, undefined);
	assert.ok(["machine", "machine_token"].every((kind) => (MAKER_KINDS as readonly string[]).includes(kind)));
});
