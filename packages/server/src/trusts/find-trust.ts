import type { KeyObject } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Scheduler } from "../http/scheduler.ts";
import type { NamedMachine } from "../machines/model.ts";
import type { System } from "../system.ts";
import { IssuerUnavailable } from "./fetch.ts";
import type { GivenKeys } from "./given-keys.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { findKey, type IssuerKey } from "./jwks.ts";
import type { Jwt } from "./jwt.ts";
import { MAX_TRUSTS, type Trust, type TrustStore } from "./model.ts";
import { JwtRefusal } from "./refusal.ts";
import { checkClaims, type Expectation, isFrom, verifySignature } from "./verify.ts";

/** Dependencies of the search. */
export interface SearchNeeds {
	store: { trusts: Pick<TrustStore, "list"> };
	system: Pick<System, "now">;
	issuer_keys: Pick<IssuerKeys, "keysOf" | "kept">;
	given_keys: GivenKeys;
	/** Spreads over several turns what strangers cause at no cost. */
	scheduler: Pick<Scheduler, "step">;
}

/** A JWT that is to be let in, and the machine that it names. */
interface Shown {
	machine: NamedMachine;
	jwt: Jwt;
	/** Moment at which a refusal waits for no issuer any more, by `performance.now()`. */
	until_ms: number;
}

/** Keys of an issuer. */
interface Keys {
	/** Keys that are there. */
	kept: readonly IssuerKey[];
	/** Keys that are there once the issuer was asked, where it has to be; otherwise the same. @throws JwtRefusal */
	renewed: Promise<readonly IssuerKey[]>;
}

/**
 * Finds the trust that takes a JWT. When none does, the refusal is that of the last one of its issuer.
 * @param note receives each trust that is tried
 * @throws JwtRefusal
 */
export async function findTrust(
	needs: SearchNeeds,
	shown: Shown,
	note: (trust: Trust) => void,
): Promise<{ trust: Trust; exp: number }> {
	const { machine, jwt } = shown;
	// Trusts often have the same keys.
	const verified = new Map<KeyObject, Promise<void>>();
	const verify = async (keys: readonly IssuerKey[]) => {
		const key = findKey(keys, jwt);
		const verifying = verified.get(key) ?? verifySignature(jwt, key);
		verified.set(key, verifying);
		await verifying;
	};
	let refusal = new JwtRefusal("issuer");
	for (const trust of await step(needs, machine, async () => needs.store.trusts.list(machine.id, "", MAX_TRUSTS))) {
		const expected = expectationOf(trust);
		if (!isFrom(jwt, expected)) continue;
		note(trust);
		try {
			const keys = await keysOf(needs, trust, shown);
			await verifyInTime(keys, verify, shown.until_ms);
			const { exp } = checkClaims(jwt, expected, needs.system.now().getTime() / 1000);
			// Only the owner of a good JWT waits for the issuer, which may have withdrawn the key.
			const renewed = await keys.renewed;
			if (renewed !== keys.kept) await verify(renewed);
			return { trust, exp };
		} catch (error) {
			if (!(error instanceof JwtRefusal)) throw error;
			refusal = error;
		}
	}
	throw refusal;
}

/**
 * Verifies with the keys that are there. If they do not fit, those that the issuer gives now may, if they come before a refusal must be sent: the time
 * of a refusal tells nobody that the issuer was asked.
 * @throws JwtRefusal
 */
async function verifyInTime(
	{ kept, renewed }: Keys,
	verify: (keys: readonly IssuerKey[]) => Promise<void>,
	until_ms: number,
): Promise<void> {
	try {
		await verify(kept);
	} catch (error) {
		const left_ms = Math.max(0, until_ms - performance.now());
		const keys = await Promise.race([renewed, pause(left_ms, kept, { ref: false })]);
		if (keys === kept) throw error;
		await verify(keys);
	}
}

/** Does a part that takes time of its turn. */
const step = <T>({ scheduler }: SearchNeeds, { payer, realm_id }: NamedMachine, work: () => Promise<T>): Promise<T> =>
	scheduler.step([payer, realm_id], work);

function expectationOf({ issuer, trust_domain, type, audience, claims }: Trust): Expectation {
	return {
		issuer: issuer ?? undefined,
		trust_domain: trust_domain ?? undefined,
		takes_access_tokens: type === "oidc",
		audience,
		claims: JSON.parse(claims),
	};
}

/** @throws JwtRefusal keys_unavailable, keys_moved: no keys are remembered, and the issuer gives none */
async function keysOf(needs: SearchNeeds, trust: Trust, { machine, jwt }: Shown): Promise<Keys> {
	const { issuer_keys, given_keys } = needs;
	const { issuer, jwks, ca_cert, keys_host } = trust;
	if (jwks !== null)
		return unchanged(
			given_keys.recall(jwks, jwt) ?? (await step(needs, machine, async () => given_keys.read(jwks, jwt))),
		);
	if (issuer === null || keys_host === null) return unchanged([]);
	const fits = (keys: readonly IssuerKey[]) => keys.some((key) => jwt.kid === undefined || key.kid === jwt.kid);
	const source = { issuer, ca_cert, keys_host, payer: machine.payer, realm_id: machine.realm_id };
	const renewed = issuer_keys.keysOf(source, fits).catch((error) => {
		throw error instanceof IssuerUnavailable ? new JwtRefusal(error.reason) : error;
	});
	// Nobody waits for it after a refusal.
	renewed.catch(() => undefined);
	return { kept: issuer_keys.kept(source) ?? (await renewed), renewed };
}

const unchanged = (keys: readonly IssuerKey[]): Keys => ({ kept: keys, renewed: Promise.resolve(keys) });
