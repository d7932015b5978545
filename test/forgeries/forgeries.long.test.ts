import assert from "node:assert/strict";
import { test } from "node:test";
import { ROW_KINDS, type RowTable } from "../../packages/server/src/store/row-kinds.ts";
import { WITH_AN_AIM } from "./aims.ts";
import { expectNoticed } from "./expected.ts";
import { OF_FILES } from "./files.ts";
import { ofIndexes } from "./indexes.ts";
import { OF_KEYS } from "./keys.ts";
import { OF_LOG, OF_TIP, WITHIN_LOG } from "./log.ts";
import { OF_NUMBERS } from "./numbers.ts";
import { OTHERS, ofOtherTable } from "./other-tables.ts";
import { OF_CONTENT, OVER_NEWER_CONTENT } from "./rollbacks.ts";
import { ofRows, withEffect } from "./rows.ts";
import { OF_SCHEMA } from "./schema.ts";
import { options, useForgedWorld } from "./shared.ts";
import type { Forgery } from "./trial.ts";

const world = useForgedWorld();

const FORGERIES: Readonly<Record<string, readonly Forgery[]>> = {
	"rows with an aim": WITH_AN_AIM,
	"the log": OF_LOG,
	"events and checkpoints": WITHIN_LOG,
	"the tip": OF_TIP,
	"the keys": OF_KEYS,
	"the schema": OF_SCHEMA,
	"the files": OF_FILES,
	"rights, log and tip put back over newer content": OVER_NEWER_CONTENT,
	"numbers without a next one": OF_NUMBERS,
	"content put back in parts": OF_CONTENT,
};

for (const [what, forgeries] of Object.entries(FORGERIES)) {
	test(`forgeries of ${what} give no access, hide nothing and are noticed`, options, () =>
		expectNoticed(world(), forgeries),
	);
}

test("indexes of the log that are emptied or dropped are noticed", options, async () => {
	const forgeries = ofIndexes(world());
	assert.ok(forgeries.length >= 2);
	await expectNoticed(world(), forgeries);
});

test("the log has blocks to forge", options, () => {
	for (const table of ["audit_block", "audit_posting"]) assert.equal(ofOtherTable(world(), table).length, 2);
});

for (const table of Object.keys(ROW_KINDS) as RowTable[]) {
	test(
		`rows of ${table} that are invented, deleted or put back give no access, hide nothing and are noticed`,
		options,
		() => expectNoticed(world(), withEffect(world(), table, ofRows(table))),
	);
}

for (const table of OTHERS) {
	test(
		`rows of ${table}, which have no MAC, that are changed, deleted or put back give no access and are noticed`,
		options,
		() => expectNoticed(world(), ofOtherTable(world(), table)),
	);
}
