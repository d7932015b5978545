import { type Answer, isAnswer, optional, text } from "../client/answer.ts";

/** Facts that come first, without their names: they say what it was about. */
const FIRST = ["key", "environment", "to_environment", "version", "user_id", "email"];
/** Facts that come last, because few look for them. */
const LAST = ["via", "token_id", "ip"];
/** Facts that lead to the server's log, to rows of its database, or to the keys of a bulk read, and say nothing themselves. */
const LEFT_OUT = new Set(["request_id", "session_id", "rows", "key_set", "token_label"]);
/** Events of bulk reads: they count values, or keys alone. */
const BULK = ["secret.list", "secret.sync"];
/** Names who caused the event when it was a machine, which appears where an e-mail would. */
const MACHINE = "machine";

/**
 * An event's facts in one line for a person, such as `DB_URL prod v3 via=api ip=10.0.0.7`.
 * @param people names of accounts by their ids
 */
export function factsInWords(data: string, type = "", people: Answer = {}): string {
	const found = parseFacts(data);
	if (found === undefined) return data;
	const facts = BULK.includes(type) ? counted(found) : found;
	const rest = Object.keys(facts).filter((name) => ![...FIRST, ...LAST, MACHINE].includes(name) && !LEFT_OUT.has(name));
	return [...FIRST, ...rest, ...LAST]
		.filter((name) => facts[name] !== undefined && facts[name] !== "" && !(name === "pre_encrypted" && !facts[name]))
		.map((name) => inWords(name, nameOf(people, facts[name])))
		.join(" ");
}

/** Says whether a bulk read was of values or of keys alone. */
function counted({ count, values, ...facts }: Answer): Answer {
	return count === undefined ? facts : { [values === false ? "keys" : "values"]: count, ...facts };
}

/** Puts a name in the place of an id that it is known of. */
function nameOf(people: Answer, value: unknown): unknown {
	return typeof value === "string" && Object.hasOwn(people, value) ? people[value] : value;
}

function parseFacts(data: string): Answer | undefined {
	try {
		const facts: unknown = JSON.parse(data);
		return isAnswer(facts) ? facts : undefined;
	} catch {
		return undefined;
	}
}

function inWords(name: string, value: unknown): string {
	const shown = typeof value === "string" ? value : JSON.stringify(value);
	if (name === "version") return `v${shown}`;
	return FIRST.includes(name) ? shown : `${name}=${shown}`;
}

/** The person or machine that caused an event, or its id where no name is known. */
export function whoOf(event: Answer): string {
	const machine = parseFacts(text(event, "data"))?.[MACHINE];
	return optional(event, "email") || (typeof machine === "string" ? `machine:${machine}` : text(event, "actor"));
}

/** The cells of an event for a person: when, who, what, where, and its facts. */
export function eventCells(event: Answer): string[] {
	return [
		text(event, "timestamp"),
		whoOf(event),
		text(event, "type"),
		optional(event, "realm"),
		factsInWords(text(event, "data"), text(event, "type"), isAnswer(event.people) ? event.people : {}),
	];
}
