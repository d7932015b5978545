import { LRUCache } from "lru-cache";
import { createCache } from "../../cache.ts";
import type { SecretVersion } from "../../secrets/model.ts";
import type { Store } from "../store.ts";

/** Tokens, sessions and memberships that are remembered at once, each. */
const MAX_REMEMBERED = 16_384;

/** Sealed secrets that are remembered: those that everybody reads, at most so many bytes together. */
const MAX_SECRETS = 1024;
const MAX_SECRET_BYTES = 4 * 1024 * 1024;

/** About what a remembered secret takes beside its value. */
const SECRET_OVERHEAD = 512;

/** Operations that change secrets only. */
const ON_SECRETS = new Set(["secrets.set", "secrets.promote", "secrets.remove"]);

/** Nouns that take nothing away from anybody. */
const APART = /^(engines|leases)\./;

/** Operations that leave the configurations of engines that hold as they are. */
const BESIDE_CONFIGS = /^(secrets|leases)\./;

/**
 * Operations that take nothing away from anybody who is remembered. After every other one, known here or not, everything is forgotten.
 */
const HARMLESS = new Set([
	"accounts.register",
	"accounts.dropSessions",
	"accounts.dropKnownSources",
	"audit.addCheckpoint",
	"audit.record",
	"health.probe",
	"sso.consume",
	"sso.forgetUsed",
	"tokens.create",
	"tokens.forgetExpired",
	"tokens.used",
]);

type Remembering = Pick<Store, "accounts" | "engines" | "realms" | "secrets" | "tokens">;

/** What is remembered in front of the database. */
export interface Memory {
	/** The same nouns, with answers that are remembered. */
	over<Nouns extends Remembering>(nouns: Nouns): Nouns;
	/** Told what a batch has run, as `noun.verb`, before whoever asked for it is. */
	forget(operations: readonly string[]): void;
}

/**
 * Remembers what every request asks for: whose token, whose session, which role, which sealed value, which configuration. Only this process writes the
 * database, and the writer tells what it ran before it tells whoever asked for it, so an answered change holds for the next request.
 * What does not exist is not remembered, but that a realm has no configuration of its own.
 */
export function createMemory(): Memory {
	const access = createCaches();
	const secrets = createCaches();
	const configs = createCaches();
	const sealed = new LRUCache<string, SecretVersion>({
		max: MAX_SECRETS,
		maxSize: MAX_SECRET_BYTES,
		sizeCalculation: (row) => row.value.length + SECRET_OVERHEAD,
	});
	return {
		over: (nouns) => ({
			...nouns,
			accounts: {
				...nouns.accounts,
				sessionOwner: access.remember((jti, user_id) => `${jti} ${user_id}`, nouns.accounts.sessionOwner),
			},
			engines: { ...nouns.engines, config: rememberConfig(configs, nouns.engines.config) },
			realms: {
				...nouns.realms,
				access: access.remember((slug, user_id) => `${user_id} ${slug}`, nouns.realms.access),
			},
			secrets: {
				...nouns.secrets,
				get: secrets.remember((realm_id, env, key) => `${realm_id} ${env} ${key}`, nouns.secrets.get, sealed),
			},
			tokens: { ...nouns.tokens, owner: access.remember((digest) => digest.toString("latin1"), nouns.tokens.owner) },
		}),
		forget(operations) {
			const harmful = operations.filter((operation) => !(HARMLESS.has(operation) || APART.test(operation)));
			const isOther = (operation: string) => !(HARMLESS.has(operation) || BESIDE_CONFIGS.test(operation));
			if (operations.some(isOther)) configs.clear();
			if (harmful.length > 0) secrets.clear();
			if (!harmful.every((operation) => ON_SECRETS.has(operation))) access.clear();
		},
	};
}

type AskConfig = Store["engines"]["config"];

function rememberConfig(caches: ReturnType<typeof createCaches>, ask: AskConfig): AskConfig {
	const known = caches.remember(
		(...names: Parameters<AskConfig>) => names.join(" "),
		async (...names) => ({ row: await ask(...names) }),
	);
	return async (...names) => (await known(...names))?.row;
}

/** Caches that are emptied together. */
function createCaches() {
	const caches: { clear(): void }[] = [];
	let cleared = 0;
	return {
		remember<Args extends unknown[], Answer extends object>(
			nameOf: (...args: Args) => string,
			ask: (...args: Args) => Promise<Answer | undefined>,
			known = createCache<string, Answer>(MAX_REMEMBERED),
		): (...args: Args) => Promise<Answer | undefined> {
			caches.push(known);
			return async (...args) => {
				const name = nameOf(...args);
				const found = known.get(name);
				if (found !== undefined) return found;
				const before = cleared;
				const answer = await ask(...args);
				if (answer !== undefined && before === cleared) known.set(name, Object.freeze(answer));
				return answer;
			};
		},
		clear() {
			cleared++;
			for (const cache of caches) cache.clear();
		},
	};
}
