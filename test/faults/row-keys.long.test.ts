import { after, before } from "node:test";
import { type RowKeysWorld, startRowKeysWorld, testKills } from "./row-keys-world.ts";

let world: RowKeysWorld;
before(async () => {
	world = await startRowKeysWorld();
});
after(() => world.server.close());

testKills([0, 60, 120, 250, 400, 600], () => world);
