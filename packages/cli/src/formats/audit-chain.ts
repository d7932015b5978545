import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { type Answer, isAnswer } from "../client/answer.ts";
import { Failure } from "../failure.ts";
import { isAuthentic, isKeysLine } from "./audit-keys.ts";

/** The known hash of an event in the chain. */
export interface Anchor {
	readonly seq: number;
	/** Hexadecimal. */
	readonly hash: string;
}

/** Result of checking an export. */
export interface ChainReport {
	/** `truncated`: the export ends before the anchor. */
	readonly status: "intact" | "altered" | "truncated";
	readonly events: number;
	/** Places between two exported events where others are missing. */
	readonly gaps: number;
	/** True when the export contains the anchor's event with the anchor's hash. */
	readonly anchored: boolean;
	/** First event that differs from what was written; undefined, also of an altered export, when keys that an event refers to differ. */
	readonly altered_seq: number | undefined;
	readonly last_seq: number;
	readonly last_hash: string;
}

const FIELDS = ["timestamp", "type", "actor", "realm_id", "realm", "data"] as const;
const HASH = /^[0-9a-f]{64}$/;

/** Hash of an exported event, hexadecimal; undefined when a field is missing. The server computes it in the same way. */
function hashOf(event: Answer): string | undefined {
	const { seq, previous_hash } = event;
	const fields = FIELDS.map((name) => event[name]);
	if (!Number.isSafeInteger(seq) || typeof previous_hash !== "string" || !HASH.test(previous_hash)) return undefined;
	if (!fields.every((field) => typeof field === "string")) return undefined;
	const text = fields.map((field) => `${Buffer.byteLength(field)}:${field}`).join("");
	return createHash("sha256")
		.update(`svc-audit-v1\n${String(seq)}\n${previous_hash}\n${text}`)
		.digest("hex");
}

/**
 * Checks an export of the log: every event has the hash of its fields and of the preceding hash, the numbers rise, and an event that
 * directly follows another names its hash. Lines about keys have the hash that events refer to.
 * @param events lines of the export, parsed as JSON; undefined for a line that is no JSON object
 */
export async function checkExport(
	events: AsyncIterable<Answer | undefined>,
	anchor: Anchor | undefined,
): Promise<ChainReport> {
	let [count, gaps, anchored] = [0, 0, false];
	let last = { last_seq: 0, last_hash: "" };
	for await (const event of events) {
		if (event !== undefined && isKeysLine(event)) {
			if (isAuthentic(event)) continue;
			return { status: "altered", events: count, gaps, anchored: false, altered_seq: undefined, ...last };
		}
		const seq = typeof event?.seq === "number" ? event.seq : last.last_seq + 1;
		const hash = event && hashOf(event);
		const isNext = seq === last.last_seq + 1;
		const follows = count === 0 || (isNext ? event?.previous_hash === last.last_hash : seq > last.last_seq);
		const isAnchor = seq === anchor?.seq;
		if (hash === undefined || hash !== event?.hash || !follows || (isAnchor && hash !== anchor.hash))
			return { status: "altered", events: count, gaps, anchored: false, altered_seq: seq, ...last };
		if (!isNext && count > 0) gaps += 1;
		if (isAnchor) anchored = true;
		count += 1;
		last = { last_seq: seq, last_hash: hash };
	}
	const status = anchor !== undefined && anchor.seq > last.last_seq ? "truncated" : "intact";
	return { status, events: count, gaps, anchored, altered_seq: undefined, ...last };
}

/** Reads each line of an export as a JSON object; undefined for a line that is none. @throws Failure usage when there is no such file */
export async function* readExport(path: string): AsyncGenerator<Answer | undefined> {
	const file = await open(path).catch((error: NodeJS.ErrnoException) => {
		if (error.code !== "ENOENT") throw error;
		throw new Failure("usage", "the file does not exist", { hint: "`svc audit export` makes one" });
	});
	try {
		for await (const line of file.readLines()) yield parseLine(line);
	} finally {
		await file.close();
	}
}

function parseLine(line: string): Answer | undefined {
	try {
		const event: unknown = JSON.parse(line);
		return isAnswer(event) ? event : undefined;
	} catch {
		return undefined;
	}
}
