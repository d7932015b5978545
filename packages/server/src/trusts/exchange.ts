import { setTimeout as pause } from "node:timers/promises";
import type { Throttle } from "../accounts/throttle.ts";
import { type AuditEvent, type AuditStore, type Visitor, visitorEvent } from "../audit/model.ts";
import { makeToken } from "../crypto/api-token.ts";
import { AppError } from "../errors.ts";
import type { Log } from "../log.ts";
import { isMachineName, type MachineStore, type MachineToken, type NamedMachine } from "../machines/model.ts";
import type { RealmAccess, RealmStore } from "../realms/model.ts";
import { releaseSlot } from "../request-slot.ts";
import type { System } from "../system.ts";
import { tokenLabel } from "../tokens/model.ts";
import { findTrust, type SearchNeeds } from "./find-trust.ts";
import { type Jwt, readJwt } from "./jwt.ts";
import type { Trust, TrustStore, UsedJwt } from "./model.ts";
import { JwtRefusal } from "./refusal.ts";
import { jwtDigest } from "./verify.ts";

/** Dependencies of the exchange. */
export interface ExchangeNeeds extends SearchNeeds {
	store: SearchNeeds["store"] & {
		audit: Pick<AuditStore, "append">;
		realms: Pick<RealmStore, "access">;
		machines: Pick<MachineStore, "byName" | "byId">;
		trusts: Pick<TrustStore, "exchange" | "noteSource" | "forgetSource">;
	};
	system: System;
	throttle: Pick<Throttle, "checkRefusals" | "exchange" | "refused" | "repeated">;
	log: Log;
}

/** A request for a token. */
interface Exchange {
	/** Slug of the realm. */
	realm: string;
	machine: string;
	jwt: string;
}

/** Parts that were found before a refusal, for the log. */
interface Found {
	realm?: RealmAccess;
	machine?: NamedMachine;
	trust?: Trust;
}

/** Milliseconds from its arrival until a refusal is answered: what was found takes less, so that nobody can tell. Design: §15 */
const REFUSAL_MS = 250;

/** Milliseconds for which a JWT that the remembered keys of its issuer do not fit waits for new ones: the rest is for the log and the event. */
const RENEWAL_MS = 200;

/** Milliseconds for which a used JWT is remembered after its end: longer than it is taken. */
const REMEMBERED_MS = 90_000;

/** Refusals of one source, machine and reason in a quarter of an hour that are events of their own. After these, one whose number is a power of two is. */
const FIRST_REFUSALS = 5;

/** Characters of the longest slug. */
const MAX_SLUG = 50;

/**
 * Exchanges a JWT for an API token of a machine, if one of its trusts takes it. Every refusal has the same answer, and none comes before 250 ms; the log
 * and the event have the reason.
 * @throws AppError invalid_credentials, rate_limited
 * Design: §15
 */
export async function exchangeJwt(
	needs: ExchangeNeeds,
	visitor: Visitor,
	input: Exchange,
): Promise<{ token: string; expires_at: string }> {
	const asked_at = performance.now();
	await needs.throttle.checkRefusals(visitor.ip);
	await needs.throttle.exchange(visitor.ip);
	const found: Found = {};
	try {
		return await giveToken(needs, visitor, input, found, asked_at + RENEWAL_MS);
	} catch (error) {
		if (!(error instanceof JwtRefusal)) throw error;
		await needs.throttle.refused(visitor.ip);
		await noteRefusal(needs, visitor, error, found);
		releaseSlot();
		await pause(Math.max(0, asked_at + REFUSAL_MS - performance.now()));
		throw new AppError(
			"invalid_credentials",
			"no trust of the machine takes this JWT: the server's log and the realm's audit log have the reason",
		);
	}
}

/** Records a refusal. Strangers cause them at no cost, so that repeated ones are events that count them, and fill no realm's log. */
async function noteRefusal(
	{ store, system, log, throttle }: ExchangeNeeds,
	visitor: Visitor,
	{ reason, place }: JwtRefusal,
	found: Found,
): Promise<void> {
	const { realm, machine, trust } = found;
	const about = { reason, ...(place && { place }), ...(trust && { trust: trust.name }) };
	const where = { ...(realm && { realm_id: realm.id }), ...(machine && { machine: machine.name }) };
	log("info", "jwt.refused", { request_id: visitor.request_id, ...where, ...about });
	const refusals = await throttle.repeated(visitor.ip, `${machine?.id ?? realm?.id ?? ""} ${reason}`);
	if (refusals > FIRST_REFUSALS && !isPowerOfTwo(refusals)) return;
	const facts = { method: "jwt", ...about, refusals };
	await store.audit.append(eventOf(visitor, system.now(), "auth.login.failed", found, facts));
}

const isPowerOfTwo = (count: number) => Number.isInteger(Math.log2(count));

/** Builds the event of a machine that is on its way in. */
function eventOf(
	visitor: Visitor,
	now: Date,
	type: AuditEvent["type"],
	{ realm, machine }: Found,
	facts: AuditEvent["data"],
): AuditEvent {
	const caller = machine && realm && `${realm.slug}/${machine.name}`;
	const event = visitorEvent(visitor, now, type, machine?.id ?? "unknown", { ...facts, machine: caller });
	return { ...event, realm_id: realm?.id ?? "", realm: realm?.slug ?? "" };
}

/**
 * @param found collects the realm, the machine and the trust, for the log of a refusal
 * @param until_ms moment at which a refusal waits for no issuer any more
 * @throws JwtRefusal
 */
async function giveToken(
	needs: ExchangeNeeds,
	visitor: Visitor,
	input: Exchange,
	found: Found,
	until_ms: number,
): Promise<{ token: string; expires_at: string }> {
	const jwt = readJwt(input.jwt);
	const { realm, machine } = await findMachine(needs, input, found);
	const now = needs.system.now();
	const { trust, exp } = await findTrust(needs, { machine, jwt, until_ms }, (tried) => {
		found.trust = tried;
	});
	const ends_ms = now.getTime() + trust.max_ttl_ms;
	// Where the platform hands a JWT out again, what it gives must not live longer.
	const expires_ms = trust.single_use ? ends_ms : Math.min(ends_ms, Math.floor(exp * 1000));
	if (expires_ms <= now.getTime()) throw new JwtRefusal("expired", "exp");
	const { token, prefix, digest } = makeToken(needs.system.randomBytes);
	const row: MachineToken = {
		...{ id: needs.system.uuid(), machine_id: machine.id, name: trust.name, prefix, digest, trust_id: trust.id },
		...{ created_by: "", created_at: now.toISOString(), expires_at: new Date(expires_ms).toISOString() },
		last_used_at: null,
	};
	const { id: token_made, expires_at } = row;
	const about = { trust_id: trust.id, trust: trust.name, ...(await noteSource(needs, visitor, jwt, trust, found)) };
	const facts = {
		token_made,
		token_label: tokenLabel(row),
		machine_id: machine.id,
		name: machine.name,
		...about,
		expires_at,
	};
	const event = eventOf(visitor, now, "machine.token.created", found, facts);
	const used = trust.single_use ? useOf(jwt, trust, realm.id, exp) : undefined;
	const outcome = await needs.store.trusts.exchange({ token: row, used }, event);
	if (outcome === "replay") throw new JwtRefusal("replay");
	if (outcome === "limit_reached") throw new JwtRefusal("limit");
	if (outcome === "gone") throw new JwtRefusal("machine");
	return { token, expires_at };
}

/**
 * Notes from where a verified JWT comes. Where it may be used again, each source after the first is an event of its own, whatever becomes of the sign-in.
 * @returns the id of the JWT, and the address from which it came first if this source is a new one
 */
async function noteSource(
	{ store, system }: ExchangeNeeds,
	visitor: Visitor,
	jwt: Jwt,
	trust: Trust,
	found: Found,
): Promise<{ jti: string | undefined; first_ip: string | undefined }> {
	const jti = idOf(jwt);
	if (trust.single_use) return { jti, first_ip: undefined };
	// Of another realm, nobody learns an address.
	const digest = jwtDigest(jwt, `${found.realm?.id}\0${trust.issuer ?? trust.trust_domain}`);
	const first_ip = await store.trusts.noteSource({ digest, payer: found.machine?.payer ?? "", ip: visitor.ip });
	if (first_ip === undefined) return { jti, first_ip };
	const facts = { trust_id: trust.id, trust: trust.name, jti, first_ip };
	try {
		await store.audit.append(eventOf(visitor, system.now(), "machine.jwt.second_source", found, facts));
	} catch (error) {
		await store.trusts.forgetSource(digest, visitor.ip);
		throw error;
	}
	return { jti, first_ip };
}

/** Returns the id that the issuer gave a JWT, with its printable characters: the rest is for no log and no terminal. */
function idOf({ claims: { jti } }: Jwt): string | undefined {
	return typeof jti === "string" ? jti.replace(/[^\x21-\x7e]/g, "\ufffd") : undefined;
}

async function findMachine(
	{ store }: ExchangeNeeds,
	input: Exchange,
	found: Found,
): Promise<{ realm: RealmAccess; machine: NamedMachine }> {
	if (input.realm.length > MAX_SLUG || !isMachineName(input.machine)) throw new JwtRefusal("machine");
	const realm = await store.realms.access(input.realm, "");
	if (realm === undefined) throw new JwtRefusal("machine");
	found.realm = realm;
	const named = await store.machines.byName(realm.id, input.machine);
	const machine = named && (await store.machines.byId(named.id));
	if (machine === undefined) throw new JwtRefusal("machine");
	found.machine = machine;
	return { realm, machine };
}

/** Names a JWT that is used. A realm with keys or an authority of its own for an issuer uses up nothing of others who trust it. */
function useOf(jwt: Jwt, { issuer, trust_domain, jwks, ca_cert }: Trust, realm_id: string, exp: number): UsedJwt {
	const isPublic = jwks === null && ca_cert === null;
	const name = `${isPublic ? "" : realm_id}\0${issuer ?? trust_domain}`;
	return { digest: jwtDigest(jwt, name), realm_id, until: new Date(exp * 1000 + REMEMBERED_MS).toISOString() };
}
