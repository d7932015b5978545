import { eventBy } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import {
	authorizeReading,
	findMachine,
	type ManageNeeds,
	manageMachines,
	requireRoleOf,
	tooMany,
} from "../machines/manage.ts";
import { isMachineName, type Machine } from "../machines/model.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import { type Definition, defineTrust, type TrustInput } from "./definition.ts";
import { IssuerUnavailable } from "./fetch.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { MAX_TRUSTS, type Trust, type TrustStore, trustFacts } from "./model.ts";

/** Dependencies of the rules of trusts. */
export interface TrustNeeds extends ManageNeeds {
	store: ManageNeeds["store"] & { trusts: TrustStore };
	system: System;
	keyring: { cursorKey(): Buffer };
	issuer_keys: IssuerKeys;
}

const TRUST_NAME_RULE =
	"a trust's name must be 1 to 64 lower-case letters, digits, dots, hyphens and underscores, with a letter or digit at both ends";

/** A machine by its realm's slug and its name, and one of its trusts. */
interface TrustName {
	slug: string;
	name: string;
	trust: string;
}

/**
 * Makes a trust of a machine, in place of the one of that name. The issuer is asked for its keys first, unless they are given: one that gives none is
 * trusted with nothing.
 * @throws AppError not_found, forbidden, insufficient_scope, unsupported_operation (not a session), validation_failed, invalid_ttl, conflict, limit_reached
 * Design: §15
 */
export async function setTrust(needs: TrustNeeds, actor: Actor, named: TrustName, input: TrustInput): Promise<Trust> {
	const realm = await manageMachines(needs, actor, named.slug);
	const machine = await findMachine(needs, realm, named.name);
	await requireRoleOf(needs, actor, named.slug, machine.role);
	if (!isMachineName(named.trust)) throw new AppError("validation_failed", TRUST_NAME_RULE);
	const definition = defineTrust(input);
	const keys_host = await findKeysHost(needs, actor, realm.id, definition);
	const now = needs.system.now();
	const made = { created_by: actor.user_id, created_at: now.toISOString() };
	const trust = {
		id: needs.system.uuid(),
		machine_id: machine.id,
		name: named.trust,
		...definition,
		keys_host,
		...made,
	};
	const facts = { ...trustFacts(trust), name: machine.name };
	const outcome = await needs.store.trusts.set(trust, eventBy(actor, now, "machine.trust.set", realm, facts));
	if (outcome === "gone") throw new AppError("not_found", "machine not found: it has just been deleted");
	if (outcome === "limit_reached")
		throw tooMany("trusts_per_machine", "the machine", "trusts", MAX_TRUSTS, "trust remove");
	return trust;
}

/** Asks the issuer where its keys are. @returns null when they are given @throws AppError conflict, when it does not give them */
async function findKeysHost(
	{ issuer_keys }: TrustNeeds,
	{ payer }: Actor,
	realm_id: string,
	{ issuer, jwks, ca_cert }: Definition,
): Promise<string | null> {
	if (issuer === null || jwks !== null) return null;
	try {
		return await issuer_keys.findHost({ issuer, ca_cert, payer, realm_id });
	} catch (error) {
		if (!(error instanceof IssuerUnavailable)) throw error;
		throw new AppError(
			"conflict",
			`${error.message}: nothing was stored (the server asks an issuer once in 30 s; if its certificate is private, give the authority's; if it cannot be reached, give its keys)`,
		);
	}
}

/** Reads a trust. @throws AppError not_found, forbidden, insufficient_scope. Design: §15 */
export async function getTrust(needs: TrustNeeds, actor: Actor, named: TrustName): Promise<Trust> {
	const machine = await findReadable(needs, actor, named);
	const trust = await needs.store.trusts.byName(machine.id, named.trust);
	if (trust === undefined) throw trustNotFound();
	return trust;
}

async function findReadable(
	needs: TrustNeeds,
	actor: Actor,
	{ slug, name }: Omit<TrustName, "trust">,
): Promise<Machine> {
	return findMachine(needs, await authorizeReading(needs, actor, slug), name);
}

const trustNotFound = () =>
	new AppError("not_found", "trust not found: `svc machine trust list` shows those of the machine");

/** Reads one page of a machine's trusts. @throws AppError not_found, forbidden, insufficient_scope. Design: §15 */
export async function listTrusts(
	needs: TrustNeeds,
	actor: Actor,
	named: Omit<TrustName, "trust">,
	page: PageRequest,
): Promise<{ rows: Trust[]; pagination: Pagination }> {
	const { id } = await findReadable(needs, actor, named);
	return readPage(needs.keyring.cursorKey(), page, {
		list: `trusts ${id}`,
		read: (after, limit) => needs.store.trusts.list(id, after ?? "", limit),
		position: (trust) => trust.name,
		count: () => needs.store.trusts.count(id),
	});
}

/** Removes a trust; the tokens that it gave end with it. @throws AppError not_found, forbidden, insufficient_scope, unsupported_operation. Design: §15 */
export async function deleteTrust(needs: TrustNeeds, actor: Actor, named: TrustName): Promise<void> {
	const realm = await manageMachines(needs, actor, named.slug);
	const machine = await findMachine(needs, realm, named.name);
	const trust = await needs.store.trusts.byName(machine.id, named.trust);
	if (trust === undefined) throw trustNotFound();
	const facts = { trust_id: trust.id, machine_id: machine.id, name: machine.name, trust: trust.name };
	const event = eventBy(actor, needs.system.now(), "machine.trust.deleted", realm, facts);
	if (!(await needs.store.trusts.remove({ machine_id: machine.id, name: trust.name }, event))) throw trustNotFound();
}
