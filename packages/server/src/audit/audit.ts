import type { AccountStore } from "../accounts/model.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { AppError } from "../errors.ts";
import type { MachineStore } from "../machines/model.ts";
import type { Environment } from "../messages.ts";
import { normalEmail } from "../normal-text.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { isUnrestricted, requireInstanceAdmin, requireScope } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmStore } from "../realms/model.ts";
import type { AccountSemaphore, QuestionNeeds } from "../semaphore.ts";
import type { System } from "../system.ts";
import type { Comparison } from "./comparison.ts";
import type { EventQuery, EventScope } from "./event-query.ts";
import {
	type Anchor,
	type AuditStore,
	type ChainReport,
	eventBy,
	type LatestProof,
	type ListedEvent,
} from "./model.ts";
import { proveLog } from "./proof.ts";

/** Dependencies of the rules of the log. */
export interface AuditNeeds extends QuestionNeeds {
	store: {
		audit: AuditStore;
		accounts: Pick<AccountStore, "byEmail" | "byId" | "startingWith">;
		realms: Pick<RealmStore, "access">;
		machines: Pick<MachineStore, "byName">;
	};
	system: System;
	keyring: Pick<Keyring, "cursorKey" | "checkpoint">;
}

/** Dependencies of verifying the log. */
export interface VerifyNeeds extends AuditNeeds {
	store: AuditNeeds["store"] & {
		/** Names what does not fit the keys of rows or the tip. */
		checkIntegrity(): Promise<{ access: string[]; content: string[] }>;
	};
	verifications: Pick<AccountSemaphore, "run">;
	/** Opens everything that is sealed, and says what does not open. */
	openEverything(): Promise<{ unopened: string[] }>;
}

/** A caller's filter of the log. */
export interface EventFilter {
	/** Slug, which the realm has now or had then. */
	realm?: string | undefined;
	/** One that ends in `.*` stands for all types that begin with the rest. */
	type?: string | undefined;
	/** User id, e-mail, or the beginning of an e-mail up to its `@`; or a machine, as below. */
	actor?: string | undefined;
	/** A machine's id, or `realm/name` while it is there. */
	machine?: string | undefined;
	/** ISO 8601 UTC. */
	since?: string | undefined;
	until?: string | undefined;
	/** Key of a secret. */
	key?: string | undefined;
	/** Environment of secrets. */
	environment?: Environment | undefined;
	/** Id of the token that caused it. */
	token?: string | undefined;
}

/**
 * Reads one page of the log, newest first: the events of realms whose log the caller may read, and the caller's own events outside any realm;
 * the instance admin sees all events outside realms.
 * @throws AppError insufficient_scope
 * Spec: API › Audit. Design: §7.2
 */
export async function listEvents(
	needs: AuditNeeds,
	actor: Actor,
	filter: EventFilter,
	page: PageRequest,
): Promise<{ rows: ListedEvent[]; pagination: Pagination }> {
	await requireScope(needs, actor, "read");
	const query = await visibleTo(needs, actor, filter);
	const { audit } = needs.store;
	return readPage(needs.keyring.cursorKey(), page, {
		list: `events ${actor.user_id} ${JSON.stringify(filter)}`,
		read: async (before, limit) =>
			isNobody(query) ? [] : needs.long_questions.run(() => audit.list(query, before, limit), actor),
		position: (event) => event.position,
		count: async () => (isNobody(query) ? 0 : needs.long_questions.run(() => audit.count(query), actor)),
	});
}

/** Tells whether the query names actors that do not exist, so that no event need be searched for. */
const isNobody = ({ actors }: EventQuery) => actors?.length === 0;

/**
 * Builds the query for the events that the caller may see and the filter matches: events of the caller's realms; those without a realm, and
 * realms' deletions, if the caller caused them or is the instance admin. Design: §7.2
 */
export async function visibleTo(needs: AuditNeeds, actor: Actor, filter: EventFilter): Promise<EventQuery> {
	const only = actor.realm_id === null ? {} : { realm_ids: [actor.realm_id] };
	const seesAll = actor.instance_admin && isUnrestricted(actor);
	const own = seesAll ? undefined : ownEvents(actor);
	const { realm } = filter;
	const found = realm === undefined ? undefined : await needs.store.realms.access(realm, actor.user_id);
	const outside: EventScope[] = [
		{ realm_ids: [""], actor: own },
		{ type: "realm.deleted", actor: own },
	];
	return {
		// No event outside a realm is about a secret.
		scopes: [{ member_id: actor.user_id, ...only }, ...(isOfSecrets(filter) ? [] : outside)],
		realm,
		realm_id: found?.id,
		type: filter.type,
		actors: await actorsOf(needs, actor, filter),
		key: filter.key,
		environment: filter.environment,
		token: filter.token,
		since: filter.since,
		until: filter.until,
	};
}

const isOfSecrets = ({ key, environment }: EventFilter) => key !== undefined || environment !== undefined;

/** Names the actor of the caller's own events. A token for one realm shows nothing outside it: nobody has the empty id. */
function ownEvents(actor: Actor): string {
	return actor.realm_id === null ? actor.user_id : "";
}

/** Most accounts whose e-mails begin alike. */
const MAX_ALIKE = 20;

/** Names the actors whose events match the filter, as they appear in events; undefined for all. @throws AppError validation_failed */
async function actorsOf(
	needs: AuditNeeds,
	{ user_id }: Actor,
	{ actor, machine, realm }: EventFilter,
): Promise<string[] | undefined> {
	const machines = machine === undefined ? undefined : [await machineOf(needs, user_id, machine)];
	if (actor === undefined) return machines;
	const isMachine = actor.includes("/") && !actor.includes("@");
	const names = isMachine ? [await machineOf(needs, user_id, actor)] : await namesOf(needs, actor, realm !== undefined);
	return machines === undefined ? names : names.filter((name) => machines.includes(name));
}

/** Finds the id of a machine that is named by id, or by realm and name; the words themselves, which no event has, when there is none. */
async function machineOf({ store }: AuditNeeds, user_id: string, machine: string): Promise<string> {
	const [slug = "", name, ...more] = machine.split("/");
	if (name === undefined || more.length > 0) return machine;
	const realm = await store.realms.access(slug, user_id);
	if (realm === undefined) return machine;
	return (await store.machines.byName(realm.id, name))?.id ?? machine;
}

/**
 * Names an actor by id and e-mail: a failed login is logged under an e-mail that has no account yet, but never in a realm. None when nobody is meant.
 * @throws AppError validation_failed when too many are meant
 */
async function namesOf({ store }: AuditNeeds, actor: string, isInRealm: boolean): Promise<string[]> {
	const email = normalEmail(actor);
	if (email.indexOf("@") > 0 && email.endsWith("@")) return namesAlike(store.accounts, email);
	const account = (await store.accounts.byEmail(email)) ?? (await store.accounts.byId(actor));
	if (account !== undefined) return [account.id, account.email];
	return isInRealm && email.includes("@") ? [] : [actor, email];
}

async function namesAlike(accounts: AuditNeeds["store"]["accounts"], start: string): Promise<string[]> {
	const alike = await accounts.startingWith(start, MAX_ALIKE + 1);
	if (alike.length > MAX_ALIKE)
		throw new AppError("validation_failed", `more than ${MAX_ALIKE} e-mails begin like this: give the whole address`);
	return alike.flatMap(({ id, email }) => [id, email]);
}

/** Result of verifying the log. */
export interface Verification extends Omit<ChainReport, "status">, Comparison {
	/**
	 * `rows_differ`: the log is intact, but rows grant something other than it says. `events_differ`: events name an account, token or session that did not exist.
	 * `rows_altered`: other rows do not fit their MACs or the tip.
	 */
	status: ChainReport["status"] | "rows_differ" | "events_differ" | "rows_altered";
	/** Rows that were found altered, also where no event names them: values, versions, leases, the server's own records; and what does not open. */
	altered: string[];
	/** Signed checkpoints compared. */
	checkpoints: number;
	/** True if a checkpoint from outside was among them: without one, a log that was cut off or rolled back as a whole looks intact. */
	is_anchored: boolean;
}

function statusOf({ status }: ChainReport, { differences, strange }: Comparison, altered: readonly string[]) {
	if (status !== "intact") return status;
	if (differences.length > 0) return "rows_differ";
	if (strange.length > 0) return "events_differ";
	return altered.length > 0 ? "rows_altered" : status;
}

const NOT_COMPARED: Comparison = { differences: [], strange: [], named_from: undefined };

/**
 * Recomputes the chain and compares it with every signed checkpoint, and with one from outside the database if given; then what the rows grant with
 * what the log granted, and events with the accounts, tokens and sessions that made them; and all rows with their MACs and the tip.
 * @throws AppError forbidden, insufficient_scope, rate_limited (too many of this account's verifications wait)
 * Design: §10
 */
export async function verifyLog(needs: VerifyNeeds, actor: Actor, outside: Anchor | undefined): Promise<Verification> {
	await requireInstanceAdmin(needs, actor, "read");
	return needs.verifications.run(() => verify(needs, actor, outside), actor);
}

async function verify(needs: VerifyNeeds, actor: Actor, outside: Anchor | undefined): Promise<Verification> {
	const { report, checkpoints } = await proveLog(needs.store.audit, needs.keyring, outside);
	// A log that was altered proves nothing about rows.
	const compared = report.status === "intact" ? await needs.store.audit.compare() : NOT_COMPARED;
	const { access, content } = await needs.store.checkIntegrity();
	// No MAC covers what is sealed: it opens in its own row, or not at all.
	const { unopened } = await needs.openEverything();
	const altered = [...access, ...content, ...unopened];
	const status = statusOf(report, compared, altered);
	const facts = { status, last_seq: report.last.seq };
	await needs.store.audit.append(eventBy(actor, needs.system.now(), "audit.verified", undefined, facts));
	return { ...report, ...compared, status, altered, checkpoints, is_anchored: outside !== undefined };
}

/** Reads what was stated about the log last, for the instance admin. @throws AppError forbidden, insufficient_scope */
export async function latestProof(needs: AuditNeeds, actor: Actor): Promise<LatestProof> {
	await requireInstanceAdmin(needs, actor, "read");
	return needs.long_questions.run(() => needs.store.audit.latest(), actor);
}

/** Reads an outside checkpoint in the form of the log line. @throws AppError validation_failed */
export function parseAnchor(seq: number | undefined, hash: string | undefined): Anchor | undefined {
	if (seq === undefined && hash === undefined) return undefined;
	if (seq === undefined || hash === undefined)
		throw new AppError("validation_failed", "seq and hash must be given together");
	return { seq, hash: Buffer.from(hash, "hex") };
}
