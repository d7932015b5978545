import { type Client, path, send } from "../client/client.ts";
import { readNames } from "../client/missing.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { isName } from "../command-line/not-found.ts";
import { Failure } from "../failure.ts";
import { EVENT_TYPES } from "../formats/event-types.ts";

/** The parts of a filter that can name something that does not exist. */
interface Named {
	readonly type?: string;
	readonly realm?: string;
	readonly key?: string;
	readonly json?: boolean;
}

/**
 * Explains to a person why no event was found: a mistyped filter must not look like "nobody did it".
 * @returns a remark
 * @throws Failure usage when there is no such type, notFound when there is no such realm
 */
export async function explainNone(client: Client, { type, realm, key, json }: Named): Promise<string> {
	if (type !== undefined) checkType(type);
	if (realm === undefined) return "no events";
	await checkRealm(client, realm);
	if (key === undefined || json === true) return "no events";
	const known = new Set((await readNames(client, "secret", path`realms/${realm}/secrets`)).map(({ name }) => name));
	const question = known.has(key) || !isName(key) ? undefined : didYouMean(key, known);
	return question === undefined ? "no events" : `no events of ${key}: ${question}`;
}

function checkType(type: string): void {
	const start = type.endsWith(".*") ? type.slice(0, -1) : undefined;
	if (start === undefined ? EVENT_TYPES.includes(type) : EVENT_TYPES.some((known) => known.startsWith(start))) return;
	const groups = [...new Set(EVENT_TYPES.map((known) => known.replace(/\..*$/, "")))];
	const group = type.replace(/[.*]+$/, "");
	const known = start === undefined ? EVENT_TYPES : groups.map((name) => `${name}.*`);
	const question = groups.includes(group) ? `did you mean '${group}.*'?` : didYouMean(type, known);
	throw new Failure("usage", `there is no type of event${isName(group) ? ` ${type}` : ""}`, {
		hint: question ?? `types begin with ${groups.join(", ")}: --type 'secret.*' shows all that begin with secret.`,
	});
}

/** Requires the realm to be there, if the caller may know. @throws Failure notFound */
async function checkRealm(client: Client, realm: string): Promise<void> {
	await send(client, { method: "GET", path: path`realms/${realm}` }).catch((error: unknown) => {
		if (error instanceof Failure && error.kind === "notFound") throw error;
	});
}
