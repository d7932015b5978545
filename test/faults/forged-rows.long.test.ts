import { after, before } from "node:test";
import { FORGERIES, type ForgedRows, makeForgedRows, testForgery } from "./forged-rows-world.ts";

let world: ForgedRows;
before(async () => {
	world = await makeForgedRows();
});
after(() => world.close());

for (const what of Object.keys(FORGERIES)) testForgery(what, () => world);
