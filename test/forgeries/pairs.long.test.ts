import { after, before, test } from "node:test";
import { skipWithoutRedis } from "../peers/redis.ts";
import { WITH_AN_AIM } from "./aims.ts";
import { expectNoticed } from "./expected.ts";
import { OF_LOG, OF_TIP } from "./log.ts";
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

/** Forgeries of rows: invented, changed, of content alone, and put back. */
const OF_ROWS = WITH_AN_AIM.filter(({ name }) =>
	/administer the instance|of one's own making|an older value|as it once was/.test(name),
);

/** Tries each of some forgeries together with each of others. */
const pairs = (some: readonly Forgery[], others: readonly Forgery[]): Forgery[] =>
	some.flatMap((one) =>
		others.map((other) => ({
			name: `${one.name}, and ${other.name}`,
			apply(database) {
				one.apply?.(database);
				other.apply?.(database);
			},
		})),
	);

const PAIRS = { "rows and log": [OF_ROWS, OF_LOG], "rows and tip": [OF_ROWS, OF_TIP], "log and tip": [OF_LOG, OF_TIP] };

for (const [what, [some = [], others = []]] of Object.entries(PAIRS)) {
	test(`forgeries of ${what} together give no access, hide nothing and are noticed`, options, () =>
		expectNoticed(world, pairs(some, others)),
	);
}
