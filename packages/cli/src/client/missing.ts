import { setTimeout as sleep } from "node:timers/promises";
import { notFound } from "../command-line/not-found.ts";
import { Failure } from "../failure.ts";
import { isAnswer, optional, rows, text } from "./answer.ts";
import { type Call, type Client, send } from "./client.ts";
import type { Refusal } from "./failures.ts";
import { listAll } from "./pages.ts";

/** Milliseconds for reading names to suggest, and most names that are read. */
const PATIENCE_MS = 1000;
const MAX_NAMES = 300;

/** Thing that the server may not find. */
interface Noun {
	/** Path of one; its groups are the list that it is in, and its name. */
	readonly path: RegExp;
	/** Field of that list's answer; without it, no names are read. */
	readonly rows?: string;
	/** Path of the list with the other names, if it is a different one. */
	readonly list?: string;
	/** True if the list has no pages. */
	readonly isWhole?: boolean;
	readonly query?: Readonly<Record<string, string>>;
	/** Field of the name in a row; `name` by default. */
	readonly field?: string;
}

const REALM: Noun = { path: /^(realms)\/([^/]+)/, rows: "realms", field: "slug" };
const SECRET: Noun = { path: /^(realms\/[^/]+\/secrets)\/([^/]+)/, rows: "secrets", field: "key" };

/** Things, by the noun of the server's message. */
const NOUNS: Readonly<Record<string, Noun>> = {
	realm: REALM,
	"deleted realm": { ...REALM, query: { deleted: "true" } },
	secret: { ...SECRET, query: { values: "false" } },
	"deleted secret": { ...SECRET, query: { deleted: "true" } },
	machine: { path: /^(realms\/[^/]+\/machines)\/([^/]+)/, rows: "machines" },
	trust: { path: /^(realms\/[^/]+\/machines\/[^/]+\/trusts)\/([^/]+)/, rows: "trusts" },
	"engine type": {
		...{ path: /^((?:realms\/[^/]+\/)?engines)\/([^/]+)/, list: "engines", isWhole: true },
		...{ rows: "engines", field: "type" },
	},
	provider: {
		...{ path: /^(auth\/(?:providers|oidc|saml|ldap))\/([^/]+)/, list: "auth/providers", isWhole: true },
		rows: "providers",
	},
	user: { path: /^(users)\/([^/]+)/, rows: "users", field: "email" },
	lease: { path: /^((?:realms\/[^/]+\/)?leases)\/([^/]+)/ },
	backup: { path: /^(backups)\/([^/]+)/ },
};

/** The noun of the server's message, and its advice. */
const MESSAGE = /^([a-z ]+) not found(?:: (.+))?$/s;

/**
 * Turns the server's "not found", which repeats nothing, into a failure that names what was typed and suggests what is near. It reads names with the
 * caller's own token, so it suggests only what the caller may list. It never fails itself, and takes a second at most.
 */
export async function nameMissing(refusal: Refusal): Promise<Failure> {
	const { client, call, code, status } = refusal;
	const [, noun = "", advice] = MESSAGE.exec(refusal.message) ?? [];
	const found = NOUNS[noun]?.path.exec(call.path);
	const typed = found?.[2] === undefined ? realmBeside(noun, call) : decodeURIComponent(found[2]);
	if (code !== "not_found" || typed === undefined) return refusal;
	const environment = call.query?.env;
	const within = noun.endsWith("secret") && environment !== undefined ? environment : undefined;
	const names = await readNames(client, noun, found?.[1] ?? "realms");
	const here = names.filter((one) => within === undefined || one.environment === within);
	const isHere = here.some((one) => one.name === typed);
	const elsewhere = isHere ? undefined : names.find(({ name }) => within !== undefined && name === typed)?.environment;
	const known = elsewhere === undefined ? here.map(({ name }) => name) : [];
	const other = elsewhere === undefined ? undefined : `it is in ${elsewhere}: --env ${elsewhere}.`;
	const hint = [other, refusal.hint ?? advice].filter((part) => part !== undefined).join(" ") || undefined;
	const place = within === undefined ? undefined : `${nameIn(REALM, call.path)}/${within}`;
	const named = notFound({ noun, typed: [typed], within: place, known, hint });
	return new Failure(named.kind, named.message, { hint: named.hint, code, status });
}

function nameIn({ path: pattern }: Noun, address: string): string {
	return decodeURIComponent(pattern.exec(address)?.[2] ?? "");
}

/** The realm that a query or a body names. */
function realmBeside(noun: string, { query, body }: Call): string | undefined {
	if (noun !== "realm") return undefined;
	const realm = query?.realm ?? (isAnswer(body) ? body.realm : undefined);
	return typeof realm === "string" ? realm : undefined;
}

/** A name that exists. */
interface Listed {
	readonly name: string;
	/** Of a secret. */
	readonly environment: string;
}

/** Reads as many names of a list as a second allows. It never fails. */
export async function readNames(client: Client, noun: string, path: string): Promise<Listed[]> {
	const found: Listed[] = [];
	const { rows: collection, isWhole, list = path, query, field = "name" } = NOUNS[noun] ?? {};
	if (collection === undefined) return found;
	const quick = { ...client, timeoutMs: PATIENCE_MS };
	const read = async () => {
		const whole = isWhole === true ? rows(await send(quick, { method: "GET", path: list }), collection) : undefined;
		for await (const row of whole ?? listAll(quick, list, collection, query)) {
			found.push({ name: text(row, field), environment: optional(row, "environment") });
			if (found.length === MAX_NAMES) return;
		}
	};
	await Promise.race([read(), sleep(PATIENCE_MS, undefined, { ref: false })]).catch(() => undefined);
	return found;
}
