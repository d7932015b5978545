import type { Fields } from "@svc/protocol";
import { createAuthority } from "@svc/x509";
import type { System } from "../system.ts";
import type { EngineStore } from "./model.ts";
import type { EngineVault } from "./vault.ts";

interface AuthorityNeeds {
	store: { engines: EngineStore };
	system: System;
	vault: EngineVault;
	engine_environment: Readonly<Record<string, string>>;
}

const COMMON_NAME = "svc CA";

/** Where an authority can come from: the configuration's field, else the server's own variable. */
const SOURCES = [
	["ca_certificate", "SVC_PKI_CA_CERT"],
	["ca_private_key", "SVC_PKI_CA_KEY"],
] as const;

/**
 * Adds the certificate authority to a pki configuration that names none: made once, kept sealed, so that a restart keeps it.
 * Spec: ENGINES › Certificate authority engine. Design: §8
 */
export async function withAuthority(needs: AuthorityNeeds, type: string, fields: Fields): Promise<Fields> {
	// With half of one, each of the engine's processes would make an authority of its own.
	const isGiven = SOURCES.every(([field, variable]) => Boolean(fields[field] ?? needs.engine_environment[variable]));
	if (type !== "pki" || isGiven) return fields;
	const kept = (await needs.store.engines.config("pki", "", "generated")) ?? (await generate(needs, fields));
	return { ...fields, ...(kept === undefined ? {} : await needs.vault.open(kept)) };
}

async function generate(needs: AuthorityNeeds, { organization }: Fields) {
	const { store, system, vault } = needs;
	const now = system.now();
	const { certificate, private_key } = await createAuthority({
		common_name: COMMON_NAME,
		organization: typeof organization === "string" ? organization : "",
		now,
		randomBytes: system.randomBytes,
	});
	const about = { id: system.uuid(), engine: "pki", realm_id: "", state: "generated", created_by: "system" } as const;
	const fields = { ca_certificate: certificate, ca_private_key: private_key };
	const row = await vault.seal({ ...about, created_at: now.toISOString() }, fields);
	const event = {
		timestamp: now.toISOString(),
		type: "engine.config.set",
		actor: "system",
		realm_id: "",
		realm: "",
		data: { engine: "pki", generated: true },
	} as const;
	await store.engines.keepGenerated(row, event);
	// Whoever was first decides.
	return store.engines.config("pki", "", "generated");
}
