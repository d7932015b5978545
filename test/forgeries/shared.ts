import { after, before } from "node:test";
import { skipWithoutRedis } from "../peers/redis.ts";
import { createForgedWorld, type ForgedWorld } from "./world.ts";

/** Options of a test that asks the world: it needs Redis. */
export const options = { skip: skipWithoutRedis };

/**
 * Makes the world before the tests of a file, and removes it after them.
 * @param prepare reads from it what the tests need: another `before` would not wait for it
 * @returns a function that finds it within a test
 */
export function useForgedWorld(prepare?: (world: ForgedWorld) => Promise<void>): () => ForgedWorld {
	let world: ForgedWorld | undefined;
	before(async () => {
		if (skipWithoutRedis !== false) return;
		world = await createForgedWorld();
		await prepare?.(world);
	});
	after(() => world?.close());
	return () => {
		if (world === undefined) throw new Error("the world is made before the first test");
		return world;
	};
}
