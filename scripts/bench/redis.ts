import { type Redis, skipWithoutRedis, startRedis as start } from "../../test/peers/redis.ts";
import { ask } from "./exchange.ts";
import { scratchFolder } from "./scratch.ts";

/** More than any scenario makes, so that no refusal is measured. */
const MAX_CONNECTIONS = 10_000_000;

/**
 * Starts a Redis that ends with this process.
 * @throws Error saying how to install it when it is missing
 */
export function startRedis(): Promise<Redis> {
	// Nobody stops it when a scenario fails, so its folder is this process's.
	if (skipWithoutRedis === false) return start({ directory: scratchFolder() });
	throw new Error("redis-server is not on the PATH: install it (Debian and Ubuntu: apt-get install redis-server)");
}

/** Allows keyvalue to make its users at a store, in one realm or in all. @throws Error when the configuration is refused */
export async function configureKeyValue(
	url: string,
	token: string,
	{ address, password }: Pick<Redis, "address" | "password">,
	slug?: string,
): Promise<void> {
	const path = `/api/v1${slug === undefined ? "" : `/realms/${slug}`}/engines/keyvalue/config`;
	const everybody = slug === undefined ? { allowed_realms: ["*"] } : {};
	const body = { address, password, max_connections: MAX_CONNECTIONS, ...everybody };
	await ask(url, { method: "PUT", path, token, body });
}
