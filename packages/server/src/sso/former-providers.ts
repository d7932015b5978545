import { systemEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import { type System, withTimeOf } from "../system.ts";
import { convertMappings } from "./former-mappings.ts";
import type { SsoStore } from "./model.ts";
import { openProvider, type Provider, type ProviderNeeds, sealProvider } from "./providers.ts";
import { createRequestKey } from "./request-key.ts";

interface RequestKeyNeeds {
	store: { sso: Pick<SsoStore, "providers" | "setProvider"> };
	keyring: ProviderNeeds["keyring"];
	system: System;
	log: Log;
}

/**
 * Gives a key to the SAML providers that were stored before requests were signed. Of several servers that start at the same time on one store, one
 * makes the key of a provider.
 * Design: §11
 */
export async function addRequestKeys(needs: RequestKeyNeeds): Promise<void> {
	for (const row of await needs.store.sso.providers()) {
		if (row.type !== "saml") continue;
		try {
			const { is } = (await openProvider(needs, row)) as Provider<"saml">;
			if (is.settings.request_key !== undefined) continue;
			// With another id, the settings from before do not open any more; its time stays that of the settings.
			const id = withTimeOf(row.id, needs.system.uuid());
			const settings = { ...is.settings, request_key: await createRequestKey(needs.system) };
			const sealed = await sealProvider(needs, { ...row, id }, settings);
			const facts = { provider: row.name, provider_id: id, provider_type: row.type };
			const event = systemEvent(needs.system.now(), "sso.provider.set", undefined, facts);
			await needs.store.sso.setProvider({ ...row, id, sealed, replaces: row.id }, event);
		} catch (error) {
			needs.log("error", "sso.request_key.failed", { provider: row.name, error });
		}
	}
}

/** Adds to providers of an earlier version what the server now needs: ids of realms, and keys. */
export async function convertProviders(needs: Parameters<typeof convertMappings>[0] & RequestKeyNeeds): Promise<void> {
	await convertMappings(needs);
	await addRequestKeys(needs);
}
