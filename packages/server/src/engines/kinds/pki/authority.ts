import type { Fields } from "@svc/protocol";
import { createAuthority } from "@svc/x509";
import { systemEvent } from "../../../audit/model.ts";
import type { EngineConfigRow } from "../../model.ts";
import type { Environment, RealmPartNeeds } from "../kind.ts";

const PKI = "pki";

const COMMON_NAME = "svc CA";

/** Variables that give the engine an authority. With only one of them, each of its processes would make another. */
const VARIABLES = ["SVC_PKI_CA_CERT", "SVC_PKI_CA_KEY"];

/** Tells whether the environment gives the engine an authority. */
export function hasAuthority(environment: Environment): boolean {
	return VARIABLES.every((variable) => Boolean(environment[variable]));
}

/** Removes the variables that give an authority. */
export function withoutAuthority(environment: Environment): Environment {
	return Object.fromEntries(Object.entries(environment).filter(([name]) => !VARIABLES.includes(name)));
}

/**
 * Finds the certificate authority of a realm for which none is given, as params of each request: made at first use and kept sealed, so it
 * outlives a restart. No realm trusts another's certificates, except for realms that shared an authority before each had its own.
 * @returns undefined when the realm is gone
 * Spec: ENGINES › Certificate authority engine. Design: §8, §13
 */
export async function authorityOf(
	needs: RealmPartNeeds,
	realm_id: string,
	fields: Fields,
): Promise<Fields | undefined> {
	const { engines } = needs.store;
	const shared = (await engines.isFormer(PKI, realm_id)) ? await engines.config(PKI, "", "generated") : undefined;
	const own = shared ?? (await engines.config(PKI, realm_id, "generated"));
	const kept = own ?? (await generate(needs, realm_id, fields));
	return kept && { _authority: await needs.sealer.open(kept) };
}

async function generate(
	{ store, system, sealer }: RealmPartNeeds,
	realm_id: string,
	{ organization }: Fields,
): Promise<EngineConfigRow | undefined> {
	const [realm] = await store.realms.named([realm_id]);
	if (realm === undefined) return undefined;
	const now = system.now();
	const { certificate, private_key } = await createAuthority({
		common_name: COMMON_NAME,
		organization: typeof organization === "string" ? organization : "",
		now,
		randomBytes: system.randomBytes,
	});
	const about = { id: system.uuid(), engine: PKI, realm_id, state: "generated", created_by: "system" } as const;
	const fields = { ca_certificate: certificate, ca_private_key: private_key };
	const row = await sealer.seal({ ...about, created_at: now.toISOString() }, fields);
	const event = systemEvent(now, "engine.config.set", realm, { engine: PKI, generated: true });
	await store.engines.keepGenerated(row, event);
	// The first one wins.
	return store.engines.config(PKI, realm_id, "generated");
}
