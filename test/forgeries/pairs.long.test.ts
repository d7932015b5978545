import { test } from "node:test";
import { CLASSES_OF_LOG, named, OF_ROWS } from "./classes.ts";
import { expectNoticed } from "./expected.ts";
import { OF_LOG, OF_TIP } from "./log.ts";
import { OVER_NEWER_CONTENT, WITH_ONE_TABLE_KEPT } from "./rollbacks.ts";
import { options, useForgedWorld } from "./shared.ts";
import type { Forgery } from "./trial.ts";

const world = useForgedWorld();

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
					world(),
					Object.values(CLASSES_OF_LOG).map((ofLog) => together([ofRows, ofLog, ...ofTip])),
				),
		);

const PAIRS = { "rows and tip": [Object.values(OF_ROWS), OF_TIP], "log and tip": [OF_LOG, OF_TIP] };

for (const [what, [some = [], others = []]] of Object.entries(PAIRS))
	test(`forgeries of ${what} together give no access, hide nothing and are noticed`, options, () =>
		expectNoticed(
			world(),
			some.flatMap((one) => others.map((other) => together([one, other]))),
		),
	);

test("rights, log and tip put back, whole or without one table, are noticed over newer content", options, () =>
	expectNoticed(world(), [...OVER_NEWER_CONTENT, ...WITH_ONE_TABLE_KEPT]),
);
