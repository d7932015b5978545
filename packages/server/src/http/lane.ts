import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Answers a request. @returns what to do when the answer is out, or cannot be any more */
export type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => (() => void) | undefined;

/** What a connection is doing: no whole head so far, a body on its way, a request in hand, waiting for the next one. */
export type State = "silent" | "receiving" | "busy" | "idle";

/** Bytes that the parser gets at once: it hands out every request in what it gets, 3,640 of them in one read of 64 KiB. */
const PIECE_BYTES = 1024;
/** Milliseconds of parsing, such as a body in thousands of chunks, after which others have their turn. */
const TURN_MS = 8;
const END_OF_HEAD = Buffer.from("\r\n\r\n");
const NOTHING = Buffer.alloc(0);

/**
 * The bytes and requests of one connection: a request is handled when the one before it has been answered, and while one that has arrived whole is
 * unanswered, the parser gets nothing more. A client that sends nothing ahead is never paused, so that its leaving is noticed. Design: §13
 */
export class Lane {
	readonly #socket: Socket;
	readonly #handle: Handle;
	readonly #became: (state: State) => void;
	readonly #parse: (bytes: Buffer) => void;
	/** Arrived, and not given to the parser. */
	#held: Buffer = NOTHING;
	/** What one piece contained beyond its first request. */
	readonly #waiting: [IncomingMessage, ServerResponse][] = [];
	#current: { incoming: IncomingMessage; outgoing: ServerResponse } | undefined;
	/** What the parser found last, and how much of its body it has not been given, where the length is known. */
	#latest: IncomingMessage | undefined;
	#bodyLeft = 0;
	#state: State = "silent";
	#isPaused: boolean = false;
	/** Whether it goes on in another turn. */
	#isResting: boolean = false;
	#isEnding: boolean = false;

	/**
	 * Stands between a socket and the parser that an HTTP server has just attached to it.
	 * @param became is told what the connection does from now on
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

	/** Whether a request that has arrived whole is unanswered. */
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

	/** Serves nothing after the request in hand, and then ends the connection. */
	endAfterAnswer(): void {
		this.#isEnding = true;
		this.#held = NOTHING;
	}

	#begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
		this.#current = { incoming, outgoing };
		// It closes once; `once` would cost as much again.
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

	/** Gives the parser what has arrived until a request is whole. */
	#goOn(): void {
		let until: number | undefined;
		while (this.#held.length > 0 && !this.isOccupied && !this.#isResting && !this.#socket.destroyed) {
			// The parser refuses bytes while Node holds the socket because of what is to be written.
			if (this.#socket.writableNeedDrain) this.#goOnDrained();
			else if (until !== undefined && performance.now() > until) this.#goOnLater();
			else {
				this.#parse(this.#takePiece());
				// Most of what arrives is one request, and needs no clock.
				if (this.#held.length > 0) until ??= performance.now() + TURN_MS;
			}
		}
		this.#tell();
		this.#holdOrRead();
	}

	/** To the end of this head or body at most, so that the next head does not begin, and run out of time, while this request is handled. */
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

/** A body that nobody reads so far: Node resumes the socket when somebody does. */
function isFull(incoming: IncomingMessage | undefined): boolean {
	return incoming !== undefined && !incoming.complete && incoming.readableLength >= incoming.readableHighWaterMark;
}
