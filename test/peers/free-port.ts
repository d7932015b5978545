import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Ports below those that Linux assigns by itself, from 32768 on: nobody else receives one of these before or between our uses. */
const [LOWEST, COUNT] = [11_000, 20_000];

/** Returns a port on which nobody listens at this moment. */
export async function freePort(): Promise<number> {
	for (;;) {
		const port = LOWEST + randomInt(COUNT);
		const server = createServer().listen(port, "127.0.0.1");
		const isFree = await once(server, "listening").then(
			() => true,
			() => false,
		);
		if (!isFree) continue;
		server.close();
		await once(server, "close");
		return port;
	}
}
