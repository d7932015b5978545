import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";

/** A client's data that the server has not received yet, including the end of its connection. */
export interface Held {
	/** Settles when the text has arrived. */
	readonly caught: Promise<unknown>;
	/**
	 * Sends it on as a slow network would, even if the client has gone. In that case this settles when the server has read everything and
	 * closed the connection, or had closed it before: nothing of it can take effect afterwards.
	 */
	release(): Promise<void>;
	/** Ends the client's connection with a reset. What is held still reaches the server when it is released. */
	drop(): void;
}

/** A TCP proxy on loopback that misbehaves on demand. */
export interface TcpProxy {
	readonly port: number;
	/** host:port */
	readonly address: string;
	/**
	 * Holds the client's data on one connection, from the next chunk that contains this text; all other connections pass.
	 * @param after text that the client must have sent on the connection since
	 */
	hold(text: string, after?: string): Held;
	/** Passes a connection's next chunk that contains this text, but nothing that the server sends on it afterwards. */
	mute(text: string): void;
	/** Swallows everything in both directions, yet accepts new connections. */
	blackhole(): void;
	/** Delays data on its way to the server. */
	delay(ms: number): void;
	/** Changes data on its way to the server, chunk by chunk; the text has one character per byte. */
	alter(change: (text: string) => string): void;
	/** Returns the number of connections so far, refused ones included. */
	accepted(): number;
	/** Ends every connection with a reset. */
	reset(): void;
	/** Resets every connection, now and later. */
	refuse(): void;
	/** Ends the misbehaviour. A connection that lost data stays silent: what follows a gap never arrives. */
	restore(): void;
	stop(): Promise<void>;
}

/** The proxy's treatment of its traffic. */
interface Conduct {
	mode: "pass" | "swallow" | "refuse";
	delay_ms: number;
	alter: ((text: string) => string) | undefined;
	trap: Trap | undefined;
	muted: string | undefined;
}

const PASS: Conduct = { mode: "pass", delay_ms: 0, alter: undefined, trap: undefined, muted: undefined };

/** `caught` resolves to a function that waits until the held connection has run its course. */
interface Trap {
	text: string;
	after: string;
	client: Socket | undefined;
	caught: PromiseWithResolvers<() => Promise<void>>;
	released: PromiseWithResolvers<void>;
}

/** Starts a proxy in front of a server. */
export async function startProxy(target_port: number, target_host = "127.0.0.1"): Promise<TcpProxy> {
	const conduct: Conduct = { ...PASS };
	let accepted = 0;
	const sockets = new Set<Socket>();
	const track = (socket: Socket) => {
		sockets.add(socket);
		socket.once("close", () => sockets.delete(socket));
		// Broken connections are what this proxy is for.
		socket.on("error", () => undefined);
		return socket;
	};
	const server = createServer({ allowHalfOpen: true }, (client) => {
		accepted++;
		if (conduct.mode === "refuse") track(client).resetAndDestroy();
		else join(track(client), track(connect(target_port, target_host)), conduct);
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as AddressInfo;
	const reset = () => {
		// A reset after an end leaves a handle for which Node waits busily when the process ends.
		for (const socket of sockets) socket.writableEnded ? socket.destroy() : socket.resetAndDestroy();
	};
	return {
		port,
		address: `127.0.0.1:${port}`,
		hold: (text, after = "") => {
			const trap: Trap = {
				...{ text, after },
				client: undefined,
				caught: Promise.withResolvers(),
				released: Promise.withResolvers(),
			};
			conduct.trap = trap;
			const release = async () => {
				trap.released.resolve();
				await (await trap.caught.promise)();
			};
			return { caught: trap.caught.promise, release, drop: () => trap.client?.resetAndDestroy() };
		},
		mute: (muted) => void Object.assign(conduct, { muted }),
		blackhole: () => void Object.assign(conduct, { mode: "swallow" }),
		delay: (delay_ms) => void Object.assign(conduct, { delay_ms }),
		alter: (alter) => void Object.assign(conduct, { alter }),
		accepted: () => accepted,
		reset,
		refuse: () => {
			conduct.mode = "refuse";
			reset();
		},
		restore: () => void Object.assign(conduct, PASS),
		stop: async () => {
			reset();
			await once(server.close(), "close");
		},
	};
}

/** Joins a client's connection with a new one to the server. */
function join(client: Socket, upstream: Socket, conduct: Conduct): void {
	const closed = new Promise((resolve) => upstream.once("close", resolve));
	let trap: Trap | undefined;
	/** The trap whose first text was sent. */
	let set: Trap | undefined;
	let way: Promise<unknown> = Promise.resolve();
	/** Runs a step after all previous ones, after the current delay and release. */
	const follow = (step: () => unknown) => {
		const { delay_ms } = conduct;
		const released = trap?.released.promise;
		way = way
			.then(() => released)
			.then(() => (delay_ms > 0 ? setTimeout(delay_ms) : undefined))
			.then(step);
	};
	let isMuted = false;
	/** True once anything on it was swallowed, in either direction. */
	let hasGap = false;
	let isOver = false;
	const end = () => {
		isOver = true;
		follow(() => upstream.end());
	};
	const finish = async () => {
		await way;
		if (isOver) await closed;
	};
	client.on("data", (received) => {
		hasGap ||= conduct.mode !== "pass";
		if (hasGap) return;
		const { alter } = conduct;
		const chunk = alter === undefined ? received : Buffer.from(alter(received.toString("latin1")), "latin1");
		if (conduct.trap !== undefined && chunk.includes(conduct.trap.after)) set = conduct.trap;
		if (conduct.trap !== undefined && conduct.trap === set && chunk.includes(conduct.trap.text)) {
			trap = conduct.trap;
			trap.client = client;
			conduct.trap = undefined;
			trap.caught.resolve(finish);
		}
		if (conduct.muted !== undefined && chunk.includes(conduct.muted)) {
			isMuted = true;
			conduct.muted = undefined;
		}
		follow(() => upstream.write(chunk));
	});
	client.once("end", end);
	client.once("close", end);
	upstream.on("data", (chunk) => {
		hasGap ||= conduct.mode !== "pass";
		if (!hasGap && !isMuted) client.write(chunk);
	});
	upstream.once("close", () => client.destroy());
}
