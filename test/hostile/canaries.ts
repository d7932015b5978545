import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Sinks in which a planted text may be found. `nowhere`: values, passwords, tokens, and everything refused. `database`:
 * data stored for people to read, such as names and comments. `audit`: data of events, which are in the database too.
 */
export type Allowed = "nowhere" | "database" | "audit";

/** The outputs of the process. `error` is the body or a header of an answer. */
export type Sink = "stdout" | "stderr" | "metrics" | "error" | "events" | "data";

const FORBIDDEN: Readonly<Record<Allowed, readonly Sink[]>> = {
	nowhere: ["stdout", "stderr", "metrics", "error", "events", "data"],
	database: ["stdout", "stderr", "metrics", "error", "events"],
	audit: ["stdout", "stderr", "metrics", "error"],
};

/** Unmistakable texts, and the sinks where each of them must not appear. */
export class Canaries {
	readonly #planted = new Map<string, { allowed: Allowed; what: string }>();

	/** Makes a new text of lower-case letters and digits, which fits in every field. `what` names it in a finding. */
	plant(allowed: Allowed, what: string): string {
		const canary = `canary${randomBytes(12).toString("hex")}`;
		this.#planted.set(canary, { allowed, what });
		return canary;
	}

	/** Adds a text from another source, such as a token. */
	add(text: string, what: string): void {
		this.#planted.set(text, { allowed: "nowhere", what });
	}

	/** Number of planted texts. */
	get size(): number {
		return this.#planted.size;
	}

	/** Names the texts found in a sink where they must not be, as plain text or in a common encoding. */
	findIn(sink: Sink, written: string | Buffer): string[] {
		const haystack = Buffer.from(written);
		return [...this.#planted]
			.filter(([, { allowed }]) => FORBIDDEN[allowed].includes(sink))
			.filter(([canary]) => spellings(canary).some((needle) => haystack.includes(needle)))
			.map(([, { what }]) => `${what} is in ${sink}`);
	}
}

/** Returns each form in which it may be written: plain, in UTF-16, in hexadecimal, and in base64 at its three possible offsets. */
function spellings(canary: string): Buffer[] {
	const base64 = [0, 1, 2].map((offset) => {
		const text = Buffer.from(" ".repeat(offset) + canary).toString("base64");
		// The first and last characters depend on the neighbouring text.
		return Buffer.from(text.slice(4, -4));
	});
	const hex = Buffer.from(Buffer.from(canary).toString("hex"));
	return [Buffer.from(canary), Buffer.from(canary, "utf16le"), hex, ...base64];
}

/** Returns the bytes of every file below the directory, by name. */
export async function filesBelow(directory: string): Promise<Map<string, Buffer>> {
	const entries = await readdir(directory, { recursive: true, withFileTypes: true });
	const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
	return new Map(await Promise.all(files.map(async (file) => [file, await readFile(file)] as const)));
}
