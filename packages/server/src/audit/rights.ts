import { RECENTLY_MADE_MS } from "../revocation/model.ts";
import { tokenLabel } from "../tokens/model.ts";
import type { Difference, When } from "./comparison.ts";
import type { GrantingRows } from "./granting-rows.ts";
import type { GrantingType } from "./granting-types.ts";
import type { StoredEvent } from "./model.ts";
import { factsIn, rolesIn } from "./stored-json.ts";

type Kind = Difference["kind"];

/** A right as a row or the log has it. */
interface Right {
	/** Terms of the grant; undefined when an older event does not tell them. */
	terms: string | undefined;
	/** Expiry; later than any time if there is none. */
	until: string;
	/** Stands for the names by which people know it; undefined when the event does not tell them. */
	label?: string | undefined;
}

/** A right as an event grants it; without an end unless the event names one. */
type Granted = Pick<Right, "terms"> & Partial<Right>;

/** A right in the log; undefined when it ended. */
interface Logged {
	right: Right | undefined;
	by: When;
}

interface LoggedToken {
	user_id: string;
	realm_id: string;
}

interface LoggedLink {
	user_id: string;
	at: string;
}

const NEVER = "~";

/** Kinds whose rows are never removed without an event. */
const STAYING: readonly Kind[] = ["account", "realm", "binding"];

type Facts = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Replays the log's events in order, then names the rows that differ. It forgets what ended unless a row exists, so it grows with the rows, not with the
 * log. Design: §13
 */
export class LoggedRights {
	readonly #current: ReadonlySet<string> | undefined;
	readonly #logged = new Map<string, Logged>();
	/** Current tokens. */
	readonly #tokens = new Map<string, LoggedToken>();
	/** Tokens that a token made, directly. */
	readonly #made = new Map<string, string[]>();
	/** Bindings, engines' configurations and tokens of a realm. */
	readonly #ofRealm = new Map<string, Set<string>>();
	readonly #links = new Map<string, LoggedLink>();
	/** Accounts with a link that an older event does not name. */
	readonly #unnamed = new Set<string>();

	/** Effect of each type of event. */
	readonly #effects: Readonly<Record<GrantingType, (event: StoredEvent, facts: Facts) => void>> = {
		"auth.register": (event, { user_id, instance_admin }) =>
			this.#grant("account", String(user_id), { terms: accountTerms(instance_admin === true, false) }, event),
		"auth.login": (event, facts) => this.#arrive(event, facts),
		"user.disabled": (event, { user_id }) => this.#setDisabled(String(user_id), true, event),
		"user.enabled": (event, { user_id }) => this.#setDisabled(String(user_id), false, event),
		"user.admin.set": (event, { user_id, instance_admin }) =>
			this.#setAdmin(String(user_id), instance_admin === true, event),
		"realm.created": (event) => this.#grant("realm", event.realm_id, { terms: realmTerms(event.actor, false) }, event),
		"realm.transferred": (event, facts) => this.#transferRealm(event, facts),
		"realm.deleted": (event) => this.#deleteRealm(event.realm_id, event),
		"realm.purged": (event) => this.#purgeRealm(event.realm_id, event),
		"realm.restored": (event, { owner }) => this.#restoreRealm(event.realm_id, String(owner), event),
		"policy.binding.created": (event, { user_id, role }) =>
			this.#grantIn(event.realm_id, "binding", `${event.realm_id} ${user_id}`, { terms: String(role) }, event),
		"policy.binding.changed": (event, { user_id, role }) =>
			this.#grantIn(event.realm_id, "binding", `${event.realm_id} ${user_id}`, { terms: String(role) }, event),
		"policy.binding.deleted": (event, { user_id }) => this.#end("binding", `${event.realm_id} ${user_id}`, event),
		"auth.token.created": (event, facts) => this.#createToken(event, facts),
		"auth.token.revoked": (event, { token_revoked }) => this.#endLine(String(token_revoked), event),
		"access.revoked": (event, facts) => this.#revoke(event, facts),
		"engine.config.set": (event, { generated, engine, config_id }) => {
			const { realm_id } = event;
			if (generated === true) return;
			this.#grantIn(realm_id, "engine", `${engine} ${realm_id}`, { terms: textOf(config_id) }, event);
		},
		"engine.config.deleted": (event, { engine }) => this.#end("engine", `${engine} ${event.realm_id}`, event),
		"sso.provider.set": (event, { provider, provider_id }) =>
			this.#grant("provider", String(provider), { terms: textOf(provider_id) }, event),
		"sso.provider.deleted": (event, { provider }) => this.#end("provider", String(provider), event),
		"sso.identity.linked": (event, { identity_id }) => this.#link(String(identity_id), event),
		"sso.identity.unlinked": (event, { identity_id }) => this.#end("identity", String(identity_id), event),
	};

	/** @param rows those that are compared later; without them it remembers every end */
	constructor(rows?: GrantingRows) {
		if (rows !== undefined) this.#current = new Set([...rightsOf(rows)].map(({ kind, id }) => keyOf(kind, id)));
	}

	/** Takes the next event; it ignores those of other types. */
	take(event: StoredEvent): void {
		const facts = factsIn(event.data);
		if (facts !== undefined) this.#effects[event.type as GrantingType]?.(event, facts as Facts);
	}

	/** Compares the rows with the events taken. */
	differences(rows: GrantingRows): Difference[] {
		const found: Difference[] = [];
		const seen = new Set<string>();
		for (const { kind, id, right } of rightsOf(rows)) {
			const key = keyOf(kind, id);
			seen.add(key);
			if (kind === "identity" && !this.#logged.has(key) && this.#unnamed.has(right.terms ?? "")) continue;
			const logged = this.#logged.get(key);
			const problem = problemOf(logged, right);
			if (problem !== undefined) found.push({ kind, id, problem, seq: logged?.by.seq, since: logged?.by.timestamp });
		}
		for (const [key, { right, by }] of this.#logged) {
			const [kind, id] = partsOf(key);
			const isMissing = right !== undefined && STAYING.includes(kind) && !seen.has(key);
			if (isMissing) found.push({ kind, id, problem: "missing", seq: by.seq, since: by.timestamp });
		}
		return found;
	}

	#grant(kind: Kind, id: string, { until = NEVER, ...granted }: Granted, by: When): void {
		this.#logged.set(keyOf(kind, id), { right: { ...granted, until }, by });
	}

	#grantIn(realm_id: string, kind: Kind, id: string, granted: Granted, by: When): void {
		this.#grant(kind, id, granted, by);
		const keys = this.#ofRealm.get(realm_id) ?? new Set();
		this.#ofRealm.set(realm_id, keys.add(keyOf(kind, id)));
	}

	#end(kind: Kind, id: string, by: When): void {
		const key = keyOf(kind, id);
		if (kind === "identity") this.#links.delete(id);
		if (this.#current?.has(key) === false) this.#logged.delete(key);
		else this.#logged.set(key, { right: undefined, by });
	}

	#arrive(event: StoredEvent, { arrival, identity_id }: Facts): void {
		const { actor } = event;
		if (arrival === "created") this.#grant("account", actor, { terms: accountTerms(false, false) }, event);
		if (arrival !== "created" && arrival !== "linked") return;
		if (identity_id === undefined) this.#unnamed.add(actor);
		else if (arrival === "linked") this.#link(String(identity_id), event);
		else this.#grant("identity", String(identity_id), { terms: actor }, event);
	}

	#link(id: string, event: StoredEvent): void {
		this.#links.set(id, { user_id: event.actor, at: event.timestamp });
		this.#grant("identity", id, { terms: event.actor }, event);
	}

	#setDisabled(user_id: string, isDisabled: boolean, by: When): void {
		const terms = this.#logged.get(keyOf("account", user_id))?.right?.terms;
		if (terms !== undefined)
			this.#grant("account", user_id, { terms: accountTerms(terms.startsWith(ADMIN), isDisabled) }, by);
	}

	#setAdmin(user_id: string, isAdmin: boolean, by: When): void {
		const terms = this.#logged.get(keyOf("account", user_id))?.right?.terms;
		if (terms !== undefined)
			this.#grant("account", user_id, { terms: accountTerms(isAdmin, terms.endsWith(DISABLED)) }, by);
	}

	#transferRealm(event: StoredEvent, { owner, was, kept_role }: Facts): void {
		const { realm_id } = event;
		this.#grant("realm", realm_id, { terms: realmTerms(String(owner), false) }, event);
		this.#end("binding", `${realm_id} ${owner}`, event);
		if (kept_role !== undefined)
			this.#grantIn(realm_id, "binding", `${realm_id} ${was}`, { terms: String(kept_role) }, event);
	}

	#deleteRealm(realm_id: string, by: When): void {
		this.#grant("realm", realm_id, { terms: realmTerms("", true) }, by);
		this.#endIn(realm_id, ["engine"], by);
	}

	#restoreRealm(realm_id: string, owner: string, by: When): void {
		this.#grant("realm", realm_id, { terms: realmTerms(owner, false) }, by);
		this.#endIn(realm_id, ["token"], by);
	}

	#purgeRealm(realm_id: string, by: When): void {
		this.#end("realm", realm_id, by);
		this.#endIn(realm_id, ["binding", "token"], by);
	}

	#createToken(event: StoredEvent, facts: Facts): void {
		const {
			token_made,
			token_label,
			limited_to = "",
			scopes,
			environment = "",
			engines = "",
			expires_at = "",
			token_id,
		} = facts;
		const id = String(token_made);
		const limits = [limited_to, environment, engines].map(String);
		const realm_id = String(limited_to);
		this.#tokens.set(id, { user_id: event.actor, realm_id });
		const made = this.#made.get(String(token_id));
		if (made !== undefined) made.push(id);
		else if (token_id !== undefined) this.#made.set(String(token_id), [id]);
		const terms = tokenTerms(event.actor, String(scopes), limits);
		const granted = { terms, until: String(expires_at || NEVER), label: textOf(token_label) };
		this.#grantIn(realm_id, "token", id, granted, event);
	}

	/** Ends a token and all that it made, directly or through others. */
	#endLine(id: string, by: When): void {
		const line = new Set([id]);
		for (const one of line) for (const made of this.#made.get(one) ?? []) line.add(made);
		for (const ended of line) if (this.#tokens.has(ended)) this.#endToken(ended, by);
	}

	#revoke(event: StoredEvent, { user_id, token_id, identities, more }: Facts): void {
		const { realm_id, timestamp } = event;
		// A realm's tokens end in parts.
		if (user_id === undefined && more === true) return;
		for (const [id, token] of this.#tokens) {
			const isTheirs = user_id === undefined || token.user_id === user_id;
			if (isTheirs && (realm_id === "" || token.realm_id === realm_id) && id !== token_id) this.#endToken(id, event);
		}
		if (identities === undefined || identities === 0) return;
		const since = new Date(Date.parse(timestamp) - RECENTLY_MADE_MS).toISOString();
		for (const [id, link] of this.#links) {
			if (link.user_id === user_id && link.at > since) this.#end("identity", id, event);
		}
	}

	#endToken(id: string, by: When): void {
		const realm_id = this.#tokens.get(id)?.realm_id ?? "";
		this.#ofRealm.get(realm_id)?.delete(keyOf("token", id));
		this.#made.delete(id);
		this.#tokens.delete(id);
		this.#end("token", id, by);
	}

	#endIn(realm_id: string, kinds: readonly Kind[], by: When): void {
		for (const key of this.#ofRealm.get(realm_id) ?? []) {
			const [kind, id] = partsOf(key);
			if (!kinds.includes(kind) || this.#logged.get(key)?.right === undefined) continue;
			if (kind === "token") this.#endToken(id, by);
			else this.#end(kind, id, by);
		}
	}
}

function problemOf(logged: Logged | undefined, right: Right): Difference["problem"] | undefined {
	if (logged === undefined) return "unknown";
	const { right: granted } = logged;
	if (granted === undefined) return "ended";
	const isSame = (["terms", "label"] as const).every((of) => granted[of] === undefined || granted[of] === right[of]);
	return isSame && right.until <= granted.until ? undefined : "changed";
}

const ADMIN = "admin";
const DISABLED = " disabled";
const accountTerms = (isAdmin: boolean, isDisabled: boolean) =>
	`${isAdmin ? ADMIN : "user"}${isDisabled ? DISABLED : ""}`;
const realmTerms = (owner: string, isDeleted: boolean) => (isDeleted ? "deleted" : owner);
const tokenTerms = (user_id: string, scopes: string, limits: readonly string[]) =>
	JSON.stringify([user_id, scopes, ...limits]);
const textOf = (fact: string | number | boolean | undefined) => (fact === undefined ? undefined : String(fact));
const keyOf = (kind: Kind, id: string) => `${kind}\n${id}`;
const partsOf = (key: string) => key.split("\n") as [kind: Kind, id: string];

/** Every right that the rows grant. */
function* rightsOf(rows: GrantingRows): Generator<{ kind: Kind; id: string; right: Right }> {
	const of = (kind: Kind, id: string, terms: string) => ({ kind, id, right: { terms, until: NEVER } });
	for (const { id, instance_admin, disabled_at } of rows.accounts)
		yield of("account", id, accountTerms(instance_admin === 1, disabled_at !== null));
	for (const { id, user_id, deleted_at } of rows.realms)
		yield of("realm", id, realmTerms(user_id, deleted_at !== null));
	for (const { realm_id, user_id, role } of rows.bindings) yield of("binding", `${realm_id} ${user_id}`, role);
	for (const token of rows.tokens) {
		const { id, user_id, scopes, realm_id, environment, engines, expires_at } = token;
		const terms = tokenTerms(user_id, scopes, [realm_id ?? "", environment ?? "", rolesIn(engines)]);
		yield { kind: "token", id, right: { terms, until: expires_at ?? NEVER, label: tokenLabel(token) } };
	}
	for (const { id, engine, realm_id } of rows.configs) yield of("engine", `${engine} ${realm_id}`, id);
	for (const { name, id } of rows.providers) yield of("provider", name, id);
	for (const { id, user_id } of rows.identities) yield of("identity", id, user_id);
}
