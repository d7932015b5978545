import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { Streamed } from "../streamed.ts";
import { createTestLog } from "../testing/log.ts";
import { Answers } from "./answers.ts";

const PIECE = "x".repeat(64 * 1024);

/** Endless answers that take all room: each holds half a MiB, and the last leaves as much free. */
const READERS = 127;

/** Pieces of the answer that another reader asks for: more than one write. */
const FEW = 10;

/** Sends answers on real sockets: an endless one for `/`, and a finite one for any other path. */
async function serve() {
	const limits = createLimits();
	const answers = new Answers({ log: createTestLog().log, limits });
	let made = 0;
	async function* pieces(count: number) {
		for (; count > 0; count--) {
			made++;
			yield PIECE;
		}
	}
	const server = createServer(async (request, response) => {
		const keys = [String(request.socket.remoteAddress)] as const;
		const answer = new Streamed(pieces(request.url === "/" ? Number.POSITIVE_INFINITY : FEW));
		const head = { status: 200, headers: {} };
		await answers.send(response, { person: undefined, keys }, head, answer).catch((error) => {
			response.writeHead(error instanceof AppError ? error.status : 500).end();
		});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const used = () =>
		limits
			.all()
			.find(({ name }) => name === "answer_bytes")
			?.used() ?? 0;
	return { server, port, used, made: () => made };
}

/** Asks for an endless answer from an address of its own, and reads 1 KiB of it whenever it is called. */
function trickle(port: number, at: number) {
	const onread = { buffer: Buffer.alloc(1024), callback: () => false };
	const socket = connect({ port, host: "127.0.0.1", localAddress: `127.0.8.${at + 1}`, onread });
	socket.on("error", () => undefined);
	socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
	return { read: () => socket.resume(), end: () => socket.destroy() };
}

async function until(what: string, seconds: number, isSo: () => Promise<boolean> | boolean): Promise<void> {
	const end = performance.now() + seconds * 1000;
	while (!(await isSo())) {
		assert.ok(performance.now() < end, `within ${seconds} s: ${what}`);
		await wait(50);
	}
}

test("answers of which 1 KiB a second is read make room for another's", async (t) => {
	const { server, port, used, made } = await serve();
	const readers = Array.from({ length: READERS }, (_, at) => trickle(port, at));
	const reading = setInterval(() => {
		for (const { read } of readers) read();
	}, 1000);
	t.after(() => {
		clearInterval(reading);
		for (const { end } of readers) end();
		server.close();
	});
	await until("all room is taken", 20, () => used() === (READERS * 1024 * 1024) / 2);
	// First the kernel takes megabytes of each.
	await until("the kernel takes no more", 40, async () => {
		const before = made();
		await wait(2000);
		return made() - before < READERS / 10;
	});
	const ask = async () => (await fetch(`http://127.0.0.1:${port}/few`)).text();
	await until("another's answer arrives", 12, async () => (await ask()).length === FEW * PIECE.length);
});
