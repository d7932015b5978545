import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Limits } from "../limits.ts";
import { plainAddress, sourceGroup } from "../source.ts";
import { CONNECTION_LIMITS, createConnectionLimits } from "./connection-limits.ts";
import { createEventLoopMeter } from "./event-loop-meter.ts";
import { type Handle, Pipeline, type State } from "./pipeline.ts";

/** Milliseconds without a whole head. Node ends a handshake after 10 s, and a head, with 408, after 10 s more: this bounds both together. */
const SILENT_MS = 12_000;
/** Milliseconds in which an answer's reader must take something. */
const UNREAD_MS = 30_000;
/** Milliseconds left to requests in hand when the server stops. */
const DRAIN_MS = 8_000;
const SWEEP_MS = 1_000;
/** States whose longest-lasting connection makes room, the first state first. */
const YIELDING = ["silent", "idle", "receiving"] as const;

/** Dependencies of `Connections`. */
export interface ConnectionNeeds {
	/** Maximum number of connections at a time, of all sources together. */
	max: number;
	/** Their connections count in total, but not by source: requests of their clients are limited instead. */
	trusted_proxies: readonly string[];
	limits: Pick<Limits, "add">;
}

/** Reason for closing a connection that could have gone on. */
type Reason = "room" | "silent" | "unread";

interface Connection {
	readonly raw: Socket;
	readonly source: string | undefined;
	readonly accepted_at: number;
	/** Identifies it during its handshake. */
	readonly peer: string;
	state: State;
	/** The socket that carries HTTP, raw or with TLS; undefined during the handshake. */
	http: Socket | undefined;
	/** Bytes that its reader has taken, and when that number last grew. */
	taken: number;
	taken_at: number;
}

/**
 * Every connection of the server, from accept to close. Admits connections, makes room for new ones, and ends those that send nothing or read nothing,
 * and all when the server stops. Design: §13
 */
export class Connections {
	readonly #needs: ConnectionNeeds;
	readonly #proxies: ReadonlySet<string>;
	readonly #perSource = createConnectionLimits();
	readonly #eventLoop = createEventLoopMeter();
	/** Each set in order of entry. */
	readonly #by: Record<State, Set<Connection>> = {
		silent: new Set(),
		receiving: new Set(),
		busy: new Set(),
		idle: new Set(),
	};
	readonly #handshakes = new Map<string, Connection>();
	readonly #pipelines = new WeakMap<object, Pipeline>();
	readonly #refused = {
		connections: 0,
		connections_per_source: 0,
		connections_per_site: 0,
		new_connections_per_source: 0,
	};
	readonly #closed: Record<Reason, number> = { room: 0, silent: 0, unread: 0 };
	#sweeping: NodeJS.Timeout | undefined;
	#isDraining: boolean = false;

	constructor(needs: ConnectionNeeds) {
		this.#needs = needs;
		this.#proxies = new Set(needs.trusted_proxies);
		needs.limits.add({
			name: "connections",
			max: needs.max,
			used: () => this.#count(),
			refused: () => this.#refused.connections,
			hint: "raise limits.connections (SVC_LIMITS_CONNECTIONS), or find the sources that hold them",
		});
		for (const name of ["connections_per_source", "connections_per_site", "new_connections_per_source"] as const) {
			const used = () => this.#perSource.fullest()[name];
			needs.limits.add({ name, ...CONNECTION_LIMITS[name], used, refused: () => this.#refused[name] });
		}
	}

	/**
	 * Takes over the connections that a server accepts, and passes on each one's requests one after another.
	 * @param handle answers a request
	 */
	guard(server: Server, handle: Handle): void {
		const [accept, ...others] = server.listeners("connection");
		if (accept === undefined || others.length > 0) throw new Error("the HTTP server accepts in another way");
		const isSecure = server.listenerCount("secureConnection") > 0;
		server.removeListener("connection", accept as (socket: Socket) => void);
		server.on("connection", (raw: Socket) => {
			const connection = this.#admit(raw);
			if (connection === undefined) return void raw.destroy();
			whenItSpeaks(raw, () => {
				accept.call(server, raw);
				if (!isSecure) this.#speak(connection, raw, handle);
			});
		});
		server.on("secureConnection", (socket: Socket) => {
			const connection = this.#handshakes.get(peerOf(socket));
			if (connection === undefined) socket.destroy();
			else this.#speak(connection, socket, handle);
		});
		// A request with an unknown expectation is a request like others: Node would answer it past the pipeline.
		for (const event of ["request", "checkExpectation"])
			server.on(event, (incoming: IncomingMessage, outgoing: ServerResponse) =>
				this.pipelineOf(incoming.socket)?.arrive(incoming, outgoing),
			);
		// A safety net below ours, which cannot choose which connection to close.
		server.maxConnections = this.#needs.max + 256;
		server.on("drop", () => this.#refused.connections++);
	}

	/** Finds the pipeline of a socket that carries HTTP. */
	pipelineOf(socket: object): Pipeline | undefined {
		return this.#pipelines.get(socket);
	}

	/** Counts connections by state. */
	counts(): Record<State, number> {
		const { silent, receiving, busy, idle } = this.#by;
		return { silent: silent.size, receiving: receiving.size, busy: busy.size, idle: idle.size };
	}

	/** Counts connections closed to make room, for sending nothing, or for reading nothing. */
	closed(): Readonly<Record<Reason, number>> {
		return this.#closed;
	}

	/** Returns the longest turn of the event loop since the last call, in seconds, while there were connections. */
	longestTurn(): number {
		return this.#eventLoop.longest();
	}

	/** Ends connections without a request immediately, the others once answered, and all after 8 s. */
	drain(): void {
		this.#isDraining = true;
		for (const connection of [...this.#by.silent, ...this.#by.idle]) this.#drop(connection);
		setTimeout(() => {
			for (const connection of [...this.#by.receiving, ...this.#by.busy, ...this.#by.idle]) this.#drop(connection);
		}, DRAIN_MS).unref();
	}

	#count(): number {
		const { silent, receiving, busy, idle } = this.#by;
		return silent.size + receiving.size + busy.size + idle.size;
	}

	/** @returns undefined when it is refused */
	#admit(raw: Socket): Connection | undefined {
		const peer = peerOf(raw);
		const address = plainAddress(raw.remoteAddress ?? "");
		// The client has left already.
		if (address === "") return undefined;
		const source = this.#proxies.has(address) ? undefined : sourceGroup(address);
		const refusal = source === undefined ? undefined : this.#perSource.take(source);
		if (refusal !== undefined) {
			this.#refused[refusal]++;
			return undefined;
		}
		const now = performance.now();
		const connection: Connection = {
			raw,
			source,
			peer,
			accepted_at: now,
			state: "silent",
			http: undefined,
			taken: 0,
			taken_at: now,
		};
		if (this.#count() >= this.#needs.max && !this.#makeRoom()) {
			if (source !== undefined) this.#perSource.release(source);
			this.#refused.connections++;
			return undefined;
		}
		this.#enter(connection);
		return connection;
	}

	#makeRoom(): boolean {
		for (const state of YIELDING)
			for (const longest of this.#by[state]) {
				this.#drop(longest, "room");
				return true;
			}
		return false;
	}

	#enter(connection: Connection): void {
		this.#by.silent.add(connection);
		this.#handshakes.set(connection.peer, connection);
		connection.raw.once("close", () => this.#release(connection));
		this.#sweeping ??= this.#watch();
	}

	#speak(connection: Connection, socket: Socket, handle: Handle): void {
		this.#handshakes.delete(connection.peer);
		connection.http = socket;
		this.#pipelines.set(socket, new Pipeline(socket, handle, (state) => this.#move(connection, state)));
	}

	#move(connection: Connection, state: State): void {
		// It may have been closed meanwhile.
		if (!this.#by[connection.state].delete(connection)) return;
		connection.state = state;
		if (state === "busy") connection.taken_at = performance.now();
		this.#by[state].add(connection);
		if (this.#isDraining && state === "idle") connection.http?.destroySoon();
	}

	#drop(connection: Connection, reason?: Reason): void {
		if (reason !== undefined) this.#closed[reason]++;
		this.#release(connection);
		connection.raw.destroy();
	}

	#release(connection: Connection): void {
		if (!this.#by[connection.state].delete(connection)) return;
		if (this.#handshakes.get(connection.peer) === connection) this.#handshakes.delete(connection.peer);
		if (connection.source !== undefined) this.#perSource.release(connection.source);
	}

	/** Runs while there are connections. */
	#watch(): NodeJS.Timeout {
		this.#eventLoop.start();
		return setInterval(() => {
			this.#sweep(performance.now());
			this.#perSource.tidy();
			if (this.#count() > 0) return;
			this.#eventLoop.stop();
			clearInterval(this.#sweeping);
			this.#sweeping = undefined;
		}, SWEEP_MS).unref();
	}

	#sweep(now: number): void {
		for (const connection of this.#by.silent) {
			if (now - connection.accepted_at < SILENT_MS) break;
			this.#drop(connection, "silent");
		}
		for (const connection of this.#by.busy) {
			if (isReading(connection)) connection.taken_at = now;
			else if (now - connection.taken_at >= UNREAD_MS) this.#drop(connection, "unread");
		}
	}
}

/** Tells whether a connection's reader has taken something since the last call, or has nothing to take. */
function isReading(connection: Connection): boolean {
	const { http, taken } = connection;
	if (http === undefined || http.writableLength === 0) return true;
	connection.taken = http.bytesWritten - http.writableLength;
	return connection.taken !== taken;
}

/** Waits for a connection's first bytes: until then it costs neither a handshake's state nor a parser. */
function whenItSpeaks(raw: Socket, begin: () => void): void {
	const fail = () => raw.destroy();
	raw.once("error", fail);
	raw.once("readable", () => {
		raw.removeListener("error", fail);
		if (raw.readableLength > 0) begin();
		else raw.destroy();
	});
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
	return `${remoteAddress} ${remotePort}`;
}
