import { after, before } from "node:test";
import { skipWithoutRedis } from "../peers/redis.ts";
import { createForgedWorld, type ForgedWorld } from "./world.ts";

/** Options of a test that asks the world: it needs Redis. */
export const options = { skip: skipWithoutRedis };

/** Makes the world before the tests of a file, and removes it after them. @returns a function that finds it within a test */
export function useForgedWorld(): () => ForgedWorld {
	let world: ForgedWorld | undefined;
	before(async () => {
		if (skipWithoutRedis === false) world = await createForgedWorld();
	});
	after(() => world?.close());
	return () => {
		if (world === undefined) throw new Error("the world is made before the first test");
		return world;
	};
}
