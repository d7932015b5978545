import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below those that Linux gives to whoever wants any, from 32768 on: nobody is given one of these while it is not taken yet, or not again. */
const [LOWEST, COUNT] = [11_000, 20_000];

/** A port that nobody listens on at this moment. */
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
