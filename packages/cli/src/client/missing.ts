import { setTimeout as sleep } from "node:timers/promises";
import { notFound } from "../command-line/not-found.ts";
import { Failure } from "../failure.ts";
import { type Answer, isAnswer, optional, rows, text } from "./answer.ts";
import { type Call, type Client, path, send } from "./client.ts";
import type { Refusal } from "./failures.ts";
import { listAll } from "./pages.ts";

/** Milliseconds for reading names to suggest, and most names that are read. */
const PATIENCE_MS = 1000;
const MAX_NAMES = 300;

/** The noun of the server's message, and its advice. */
const MESSAGE = /^(realm|secret|machine|engine type|provider|user|lease|backup) not found(?:: (.+))?$/s;

/** The path that names a thing; its last group is the name. */
const PATHS: Readonly<Record<string, RegExp>> = {
	realm: /^realms\/([^/]+)/,
	secret: /^realms\/[^/]+\/secrets\/([^/]+)/,
	machine: /^realms\/[^/]+\/machines\/([^/]+)/,
	"engine type": /^(?:realms\/[^/]+\/)?engines\/([^/]+)/,
	provider: /^auth\/(?:providers|oidc|saml|ldap)\/([^/]+)/,
	user: /^users\/([^/]+)/,
	lease: /^(?:realms\/[^/]+\/)?leases\/([^/]+)/,
	backup: /^backups\/([^/]+)/,
};

/**
 * Turns the server's "not found", which repeats nothing, into a failure that names what was typed and suggests what is near. It reads names with the
 * caller's own token, so it suggests only what the caller may list. It never fails itself, and takes a second at most.
 */
export async function nameMissing(refusal: Refusal): Promise<Failure> {
	const { client, call, code, status } = refusal;
	const [, noun = "", advice] = MESSAGE.exec(refusal.message) ?? [];
	const typed = nameIn(PATHS[noun], call.path) ?? (noun === "realm" ? realmBeside(call) : undefined);
	if (code !== "not_found" || typed === undefined) return refusal;
	const realm = nameIn(PATHS.realm, call.path);
	const environment = call.query?.env;
	const within = noun === "secret" && environment !== undefined ? `${realm}/${environment}` : undefined;
	const found = await readNames(client, noun, realm ?? "");
	const here = found.filter((one) => within === undefined || one.environment === environment);
	const elsewhere = found.find((one) => within !== undefined && one.name === typed)?.environment;
	const known = elsewhere === undefined ? here.map(({ name }) => name) : [];
	const other = elsewhere === undefined ? undefined : `it is in ${elsewhere}: --env ${elsewhere}.`;
	const hint = [other, refusal.hint ?? advice].filter((part) => part !== undefined).join(" ") || undefined;
	const named = notFound({ noun, typed: [typed], within, known, hint });
	return new Failure(named.kind, named.message, { hint: named.hint, code, status });
}

function nameIn(pattern: RegExp | undefined, address: string): string | undefined {
	const name = pattern?.exec(address)?.[1];
	return name === undefined ? undefined : decodeURIComponent(name);
}

/** The realm that a query or a body names. */
function realmBeside({ query, body }: Call): string | undefined {
	const realm = query?.realm ?? (isAnswer(body) ? body.realm : undefined);
	return typeof realm === "string" ? realm : undefined;
}

/** A name that exists. */
interface Listed {
	readonly name: string;
	/** Of a secret. */
	readonly environment: string;
}

/** Reads as many names as a second allows. It never fails. */
export async function readNames(client: Client, noun: string, realm: string): Promise<Listed[]> {
	const found: Listed[] = [];
	const read = async () => {
		for await (const row of list({ ...client, timeoutMs: PATIENCE_MS }, noun, realm)) {
			found.push({ name: nameOf(row, noun), environment: optional(row, "environment") });
			if (found.length === MAX_NAMES) return;
		}
	};
	await Promise.race([read(), sleep(PATIENCE_MS, undefined, { ref: false })]).catch(() => undefined);
	return found;
}

async function* list(client: Client, noun: string, realm: string): AsyncGenerator<Answer> {
	if (noun === "realm") yield* listAll(client, "realms", "realms");
	if (noun === "secret") yield* listAll(client, path`realms/${realm}/secrets`, "secrets", { values: "false" });
	if (noun === "machine") yield* listAll(client, path`realms/${realm}/machines`, "machines");
	if (noun === "engine type") yield* rows(await send(client, { method: "GET", path: "engines" }), "engines");
	if (noun === "provider") yield* rows(await send(client, { method: "GET", path: "auth/providers" }), "providers");
}

const NAME_FIELDS: Readonly<Record<string, string>> = { realm: "slug", secret: "key", "engine type": "type" };

function nameOf(row: Answer, noun: string): string {
	return text(row, NAME_FIELDS[noun] ?? "name");
}
