import { parseDuration } from "@svc/protocol";
import { eventBy } from "../audit/model.ts";
import { makeToken } from "../crypto/api-token.ts";
import { AppError } from "../errors.ts";
import { invalidTtl } from "../expiry.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import type { AccessNeeds } from "../policy/authorize.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor, Scope } from "../policy/model.ts";
import type { System } from "../system.ts";
import { tokenLabel } from "../tokens/model.ts";
import { authorizeReading, findMachine, manageMachines, requireRoleOf, tooMany } from "./manage.ts";
import {
	isMachineName,
	MACHINE_NAME_RULE,
	MAX_MACHINE_TOKENS,
	MAX_MACHINES,
	MAX_TOKEN_DAYS,
	type Machine,
	type MachineStore,
	type MachineToken,
} from "./model.ts";

/** Dependencies of the rules of machines. */
export interface MachineNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & { machines: MachineStore };
	system: System;
	keyring: { cursorKey(): Buffer };
	/** Tells whether an engine has such a role. */
	hasRole(name: string): boolean;
}

/** A machine as a request sets it. */
type MachineInput = Pick<Machine, "role" | "environment" | "description"> & {
	scopes: readonly Scope[];
	engines: readonly string[] | null;
};

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Makes a machine, or changes the one of that name. It never has more than its maker, and what narrows it narrows its tokens, too.
 * @throws AppError not_found, forbidden, insufficient_scope, unsupported_operation (not a session), validation_failed, limit_reached
 * Design: §15
 */
export async function setMachine(
	needs: MachineNeeds,
	actor: Actor,
	slug: string,
	name: string,
	input: MachineInput,
): Promise<Machine> {
	const realm = await manageMachines(needs, actor, slug);
	if (!isMachineName(name)) throw new AppError("validation_failed", MACHINE_NAME_RULE);
	await requireRoleOf(needs, actor, slug, input.role);
	if (input.engines?.every(needs.hasRole) === false)
		throw new AppError("validation_failed", "engines names a role that does not exist");
	const now = needs.system.now();
	const engines = input.engines === null ? null : JSON.stringify(input.engines);
	const machine = {
		id: needs.system.uuid(),
		realm_id: realm.id,
		name,
		role: input.role,
		scopes: input.scopes.join(","),
		environment: input.environment,
		engines,
		description: input.description,
		created_by: actor.user_id,
		created_at: now.toISOString(),
	};
	const { role, scopes, environment } = machine;
	const facts = { name, role, scopes, environment: environment ?? "", engines: input.engines?.join(",") };
	const outcome = await needs.store.machines.set(machine, eventBy(actor, now, "machine.set", realm, facts));
	if (outcome === "realm_gone") throw realmNotFound();
	if (outcome === "limit_reached") throw tooMany("machines_per_realm", "the realm", "machines", MAX_MACHINES, "delete");
	return (await needs.store.machines.byName(realm.id, name)) ?? machine;
}

/** Reads a machine. @throws AppError not_found, forbidden, insufficient_scope. Design: §15 */
export async function getMachine(needs: MachineNeeds, actor: Actor, slug: string, name: string): Promise<Machine> {
	const realm = await authorizeReading(needs, actor, slug);
	return findMachine(needs, realm, name);
}

/** Reads one page of a realm's machines. @throws AppError not_found, forbidden, insufficient_scope. Design: §15 */
export async function listMachines(
	needs: MachineNeeds,
	actor: Actor,
	slug: string,
	page: PageRequest,
): Promise<{ rows: Machine[]; pagination: Pagination }> {
	const realm = await authorizeReading(needs, actor, slug);
	return readPage(needs.keyring.cursorKey(), page, {
		list: `machines ${realm.id}`,
		read: (after, limit) => needs.store.machines.list(realm.id, after ?? "", limit),
		position: (machine) => machine.name,
		count: () => needs.store.machines.count(realm.id),
	});
}

/** Deletes a machine; its tokens end with it. @throws AppError not_found, forbidden, insufficient_scope, unsupported_operation. Design: §15 */
export async function deleteMachine(needs: MachineNeeds, actor: Actor, slug: string, name: string): Promise<void> {
	const realm = await manageMachines(needs, actor, slug);
	const { id } = await findMachine(needs, realm, name);
	const event = eventBy(actor, needs.system.now(), "machine.deleted", realm, { machine_id: id, name });
	if (!(await needs.store.machines.remove({ realm_id: realm.id, name }, event)))
		throw new AppError("not_found", "machine not found: it has just been deleted");
}

/**
 * Makes a token of a machine.
 * @returns the token's row and, only this once, the token
 * @throws AppError not_found, forbidden, insufficient_scope, unsupported_operation, invalid_ttl, limit_reached
 * Design: §15
 */
export async function createMachineToken(
	needs: MachineNeeds,
	actor: Actor,
	place: { slug: string; name: string },
	input: { name: string; ttl: string },
): Promise<MachineToken & { token: string }> {
	const realm = await manageMachines(needs, actor, place.slug);
	const machine = await findMachine(needs, realm, place.name);
	await requireRoleOf(needs, actor, place.slug, machine.role);
	const life_ms = lifeOf(input.ttl);
	const now = needs.system.now();
	const { token, prefix, digest } = makeToken(needs.system.randomBytes);
	const row = {
		id: needs.system.uuid(),
		machine_id: machine.id,
		name: input.name,
		prefix,
		digest,
		trust_id: null,
		created_by: actor.user_id,
		created_at: now.toISOString(),
		expires_at: new Date(now.getTime() + life_ms).toISOString(),
		last_used_at: null,
	};
	const { id: token_made, expires_at } = row;
	const facts = { token_made, token_label: tokenLabel(row), machine_id: machine.id, name: machine.name, expires_at };
	const event = eventBy(actor, now, "machine.token.created", realm, facts);
	const outcome = await needs.store.machines.addToken(row, event);
	if (outcome === "gone") throw new AppError("not_found", "machine not found: it has just been deleted");
	if (outcome === "limit_reached")
		throw tooMany("tokens_per_machine", "the machine", "tokens", MAX_MACHINE_TOKENS, "token revoke");
	return { ...row, token };
}

/** Reads the life of a token in milliseconds. @throws AppError invalid_ttl */
function lifeOf(ttl: string): number {
	const life_ms = parsed(ttl);
	if (life_ms < 1000) throw new AppError("invalid_ttl", "ttl must be at least 1s");
	if (life_ms > MAX_TOKEN_DAYS * DAY_MS) throw new AppError("invalid_ttl", `ttl must be at most ${MAX_TOKEN_DAYS}d`);
	return life_ms;
}

function parsed(ttl: string): number {
	try {
		return parseDuration(ttl, { days: true });
	} catch (error) {
		throw invalidTtl(error);
	}
}

/** Reads one page of a machine's tokens. @throws AppError not_found, forbidden, insufficient_scope. Design: §15 */
export async function listMachineTokens(
	needs: MachineNeeds,
	actor: Actor,
	place: { slug: string; name: string },
	page: PageRequest,
): Promise<{ rows: MachineToken[]; pagination: Pagination }> {
	const { id } = await findMachine(needs, await authorizeReading(needs, actor, place.slug), place.name);
	return readPage(needs.keyring.cursorKey(), page, {
		list: `machine tokens ${id}`,
		read: (after, limit) => needs.store.machines.tokens(id, after ?? "", limit),
		position: (token) => token.id,
		count: () => needs.store.machines.countTokens(id),
	});
}

/** Revokes a token of a machine. @throws AppError not_found, forbidden, insufficient_scope, unsupported_operation. Design: §15 */
export async function revokeMachineToken(
	needs: MachineNeeds,
	actor: Actor,
	place: { slug: string; name: string; id: string },
): Promise<void> {
	const realm = await manageMachines(needs, actor, place.slug);
	const machine = await findMachine(needs, realm, place.name);
	const facts = { token_revoked: place.id, machine_id: machine.id, name: machine.name };
	const event = eventBy(actor, needs.system.now(), "machine.token.revoked", realm, facts);
	if (!(await needs.store.machines.revokeToken({ machine_id: machine.id, id: place.id }, event)))
		throw new AppError("not_found", "token not found: `svc machine token list` shows those of the machine");
}
