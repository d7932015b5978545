import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { skipWithoutRedis } from "../peers/redis.ts";
import { WITH_AN_AIM } from "./aims.ts";
import { expectNoticed } from "./expected.ts";
import { emptied } from "./indexes.ts";
import { OF_LOG, OF_TIP, WITHIN_LOG } from "./log.ts";
import { OVER_NEWER_CONTENT, WITH_ONE_TABLE_KEPT } from "./rollbacks.ts";
import { moved, ofRows, swapped } from "./rows.ts";
import type { Forgery } from "./trial.ts";
import { createForgedWorld, type ForgedWorld } from "./world.ts";

const options = { skip: skipWithoutRedis };
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
let world: ForgedWorld;
before(async () => {
	if (skipWithoutRedis !== false) return;
	world = await createForgedWorld();
	ends.defer(world.close);
});

const named = (forgeries: readonly Forgery[], name: string): Forgery =>
	forgeries.find((forgery) => forgery.name.endsWith(`: ${name}`)) ?? assert.fail(`no forgery ${name}`);

/** One forgery of rows of each class. */
const OF_ROWS: Readonly<Record<string, Forgery>> = {
	"a row inserted": named(WITH_AN_AIM, "a token of one's own making"),
	"a row changed": named(WITH_AN_AIM, "to administer the instance"),
	"two rows swapped": swapped("account", "password"),
	"a row moved to another realm": moved("binding"),
	"rows as they once were": named(WITH_AN_AIM, "everything that ended, as it once was"),
	"all accounts deleted": named(WITH_AN_AIM, "to be the first account"),
	"all second factors deleted": named(WITH_AN_AIM, "to sign in without a second factor"),
	"all marks of used JWTs deleted": named(WITH_AN_AIM, "a JWT used once more"),
	"an older value as the current one": named(WITH_AN_AIM, "an older value"),
	"a lease put off": named(WITH_AN_AIM, "a credential that lives longer"),
	"a role deleted": named(ofRows("binding"), "a row deleted"),
	"an index of roles without entries": emptied("binding_in_order"),
};

/** One forgery of the log of each class. */
const CLASSES_OF_LOG: Readonly<Record<string, Forgery>> = {
	"a log cut": named(OF_LOG, "cut with its checkpoints"),
	"a log cut and forged": named(OF_LOG, "cut, forged and without checkpoints"),
	"a log rehashed from the middle": named(OF_LOG, "rehashed from the middle, without checkpoints"),
	"the log's end as it once was": named(OF_LOG, "its end as it once was"),
	"a log in another order": named(WITHIN_LOG, "reordered"),
	"replaced checkpoints": named(WITHIN_LOG, "checkpoints' hash replaced"),
};

const TIPS: Readonly<Record<string, readonly Forgery[]>> = {
	"the tip kept": [],
	"the tip as it once was": [named(OF_TIP, "as it once was")],
	"the tip deleted": [named(OF_TIP, "deleted")],
};

/** Tries some forgeries together, in this order. */
const together = (forgeries: readonly Forgery[]): Forgery => ({
	name: forgeries.map(({ name }) => name).join(", and "),
	apply(database) {
		for (const { apply } of forgeries) apply?.(database);
	},
});

for (const [tip, ofTip] of Object.entries(TIPS))
	for (const [what, ofRows] of Object.entries(OF_ROWS))
		test(
			`${what}, with each forgery of the log and ${tip}, give no access, hide nothing and are noticed`,
			options,
			() =>
				expectNoticed(
					world,
					Object.values(CLASSES_OF_LOG).map((ofLog) => together([ofRows, ofLog, ...ofTip])),
				),
		);

const PAIRS = { "rows and tip": [Object.values(OF_ROWS), OF_TIP], "log and tip": [OF_LOG, OF_TIP] };

for (const [what, [some = [], others = []]] of Object.entries(PAIRS))
	test(`forgeries of ${what} together give no access, hide nothing and are noticed`, options, () =>
		expectNoticed(
			world,
			some.flatMap((one) => others.map((other) => together([one, other]))),
		),
	);

test("rights, log and tip put back, whole or without one table, are noticed over newer content", options, () =>
	expectNoticed(world, [...OVER_NEWER_CONTENT, ...WITH_ONE_TABLE_KEPT]),
);
