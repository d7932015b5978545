import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Answers a request. @returns a function to call once the answer is sent, or can no longer be */
export type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => (() => void) | undefined;

/** State of a connection: no whole head so far, a body on its way, a request in hand, waiting for the next one. */
export type State = "silent" | "receiving" | "busy" | "idle";

/** Bytes given to the parser at a time: it emits every request in them, 3,640 in one read of 64 KiB. */
const PIECE_BYTES = 1024;
/** Milliseconds of parsing, such as a body in thousands of chunks, after which others get their turn. */
const TURN_MS = 8;
const END_OF_HEAD = Buffer.from("\r\n\r\n");
const NOTHING = Buffer.alloc(0);

/**
 * The bytes and requests of one connection. A request is handled once the one before it has been answered; while a whole request is unanswered, the
 * parser gets no more bytes. A client that sends nothing ahead is never paused, so that the server notices when it leaves. Design: §13
 */
export class Pipeline {
	readonly #socket: Socket;
	readonly #handle: Handle;
	readonly #became: (state: State) => void;
	readonly #parse: (bytes: Buffer) => void;
	/** Bytes that have not been given to the parser. */
	#held: Buffer = NOTHING;
	/** Requests of one piece after its first. */
	readonly #waiting: [IncomingMessage, ServerResponse][] = [];
	#current: { incoming: IncomingMessage; outgoing: ServerResponse } | undefined;
	/** The request that the parser found last, and how much of its body it has not been given, where the length is known. */
	#latest: IncomingMessage | undefined;
	#bodyLeft = 0;
	#state: State = "silent";
	#isPaused: boolean = false;
	/** Set while it waits to continue in another turn. */
	#isResting: boolean = false;
	#isEnding: boolean = false;

	/**
	 * Puts itself between a socket and the parser that an HTTP server has just attached to it.
	 * @param became receives each new state
	 */
	constructor(socket: Socket, handle: Handle, became: (state: State) => void) {
		const [parse, ...others] = socket.listeners("data");
		if (parse === undefined || others.length > 0) throw new Error("the HTTP server reads its sockets in another way");
		this.#socket = socket;
		this.#handle = handle;
		this.#became = became;
		this.#parse = parse as (bytes: Buffer) => void;
		socket.removeListener("data", this.#parse);
		socket.on("data", (bytes: Buffer) => {
			if (this.#isEnding) return;
			this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
			this.#goOn();
		});
		socket.once("close", () => {
			this.#held = NOTHING;
		});
	}

	/** The answer that is being made or written. */
	get answer(): ServerResponse | undefined {
		return this.#current?.outgoing;
	}

	/** Tells whether a whole request is unanswered. */
	get isOccupied(): boolean {
		return this.#waiting.length > 0 || this.#current?.incoming.complete === true;
	}

	/** Takes a request that the parser has found. */
	arrive(incoming: IncomingMessage, outgoing: ServerResponse): void {
		this.#latest = incoming;
		this.#bodyLeft = Number(incoming.headers["content-length"] ?? 0);
		if (this.#current === undefined) this.#begin(incoming, outgoing);
		else this.#waiting.push([incoming, outgoing]);
	}

	/** Ignores all further bytes, and ends the connection after the answer in hand. */
	endAfterAnswer(): void {
		this.#isEnding = true;
		this.#held = NOTHING;
	}

	#begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
		this.#current = { incoming, outgoing };
		// It closes once; `once` would double the cost.
		outgoing.on("close", () => {
			settle?.();
			this.#end();
		});
		const settle = this.#handle(incoming, outgoing);
	}

	#end(): void {
		this.#current = undefined;
		if (this.#isEnding) this.#socket.destroySoon();
		else if (this.#waiting.length > 0 || this.#held.length > 0) this.#goOnLater();
		else this.#goOn();
	}

	/** Feeds the parser until a request is whole. */
	#goOn(): void {
		let until: number | undefined;
		while (this.#held.length > 0 && !this.isOccupied && !this.#isResting && !this.#socket.destroyed) {
			// The parser refuses bytes while Node pauses the socket because of pending writes.
			if (this.#socket.writableNeedDrain) this.#goOnDrained();
			else if (until !== undefined && performance.now() > until) this.#goOnLater();
			else {
				this.#parse(this.#takePiece());
				// Most reads are one request, and need no clock.
				if (this.#held.length > 0) until ??= performance.now() + TURN_MS;
			}
		}
		this.#tell();
		this.#holdOrRead();
	}

	/** Takes bytes up to the end of this head or body, so that the next head does not begin, and time out, while this request is handled. */
	#takePiece(): Buffer {
		const end = this.#endOfPiece();
		const held = this.#held;
		if (end >= held.length) {
			this.#held = NOTHING;
			return held;
		}
		this.#held = held.subarray(end);
		return held.subarray(0, end);
	}

	#endOfPiece(): number {
		const held = this.#held;
		if (this.#latest?.complete === false) {
			const length = Math.min(held.length, this.#bodyLeft > 0 ? this.#bodyLeft : PIECE_BYTES);
			this.#bodyLeft -= length;
			return length;
		}
		const most = held.length <= PIECE_BYTES ? held : held.subarray(0, PIECE_BYTES);
		const end = most.indexOf(END_OF_HEAD);
		return end < 0 ? most.length : end + END_OF_HEAD.length;
	}

	#goOnLater(): void {
		this.#isResting = true;
		setImmediate(() => {
			this.#isResting = false;
			const next = this.#current === undefined ? this.#waiting.shift() : undefined;
			if (next !== undefined && !this.#socket.destroyed) this.#begin(...next);
			this.#goOn();
		});
	}

	#goOnDrained(): void {
		this.#isResting = true;
		this.#socket.once("drain", () => {
			this.#isResting = false;
			this.#goOn();
		});
	}

	#tell(): void {
		const before = this.#state;
		if (this.#current !== undefined) this.#state = this.#current.incoming.complete ? "busy" : "receiving";
		// At rest, another request may be waiting.
		else if (before !== "silent" && !this.#isResting) this.#state = "idle";
		if (this.#state !== before) this.#became(this.#state);
	}

	#holdOrRead(): void {
		if (this.#held.length > 0) {
			this.#isPaused = true;
			this.#socket.pause();
		} else if (this.#isPaused && !isFull(this.#current?.incoming)) {
			this.#isPaused = false;
			this.#socket.resume();
		}
	}
}

/** Tells whether a body fills its buffer because nobody reads it yet: Node resumes the socket once somebody does. */
function isFull(incoming: IncomingMessage | undefined): boolean {
	return incoming !== undefined && !incoming.complete && incoming.readableLength >= incoming.readableHighWaterMark;
}
