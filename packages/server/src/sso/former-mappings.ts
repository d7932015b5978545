import { systemEvent } from "../audit/model.ts";
import type { Check } from "../doctor/model.ts";
import type { Log } from "../log.ts";
import { madeAtMs, type System, withTimeOf } from "../system.ts";
import type { ProviderRow, SsoStore } from "./model.ts";
import { openProvider, type Provider, type ProviderNeeds, sealProvider } from "./providers.ts";
import { findRealms, hasRealm, type RealmNeeds, type StoredMapping } from "./role-mappings.ts";

interface ConversionNeeds extends RealmNeeds {
	store: RealmNeeds["store"] & { sso: Pick<SsoStore, "providers" | "setProvider"> };
	keyring: ProviderNeeds["keyring"];
	system: System;
	log: Log;
}

/**
 * Gives ids to the mappings of providers from before. A realm that is as old as the provider's settings is the one that they named; a younger one may
 * have taken the slug over, so its mapping stays as it is and grants nothing until somebody sets the provider again.
 */
export async function convertMappings(needs: ConversionNeeds): Promise<void> {
	for (const row of await needs.store.sso.providers()) {
		try {
			const provider = await openProvider(needs, row);
			const converted = await convert(needs, provider);
			if (converted !== undefined) await rewrite(needs, row, provider, converted);
		} catch (error) {
			needs.log("error", "sso.role_mappings.failed", { provider: row.name, error });
		}
	}
}

async function convert({ store }: RealmNeeds, { id, is }: Provider): Promise<readonly StoredMapping[] | undefined> {
	const stored = is.settings.role_mappings;
	const former = stored.flatMap((mapping) => (hasRealm(mapping) ? [] : [mapping]));
	const realms = await findRealms(store.realms, former);
	// No MAC covers `created_at`; one covers each id.
	const set_ms = madeAtMs(id);
	const realmOf = (mapping: StoredMapping) => {
		const realm = hasRealm(mapping) ? undefined : realms.get(mapping.realm);
		return realm !== undefined && madeAtMs(realm.id) < set_ms ? realm.id : undefined;
	};
	if (former.every((mapping) => realmOf(mapping) === undefined)) return undefined;
	return stored.map((mapping) => {
		const realm_id = realmOf(mapping);
		return realm_id === undefined ? mapping : { group: mapping.group, realm_id, role: mapping.role };
	});
}

async function rewrite(
	needs: ConversionNeeds,
	row: ProviderRow,
	{ is }: Provider,
	role_mappings: readonly StoredMapping[],
): Promise<void> {
	// With another id, the settings from before do not open any more; its time stays that of the settings.
	const id = withTimeOf(row.id, needs.system.uuid());
	const sealed = await sealProvider(needs, { ...row, id }, { ...is.settings, role_mappings });
	const facts = { provider: row.name, provider_id: id, provider_type: row.type };
	const event = systemEvent(needs.system.now(), "sso.provider.set", undefined, facts);
	await needs.store.sso.setProvider({ ...row, id, sealed, replaces: row.id }, event);
}

/** Mappings named in one message. */
const MAX_NAMED = 20;

/** Makes the function that finds mappings from before that grant nothing, because their slug may name another realm now. */
export function createMappingsCheck(needs: {
	store: { sso: Pick<SsoStore, "providers"> };
	keyring: ProviderNeeds["keyring"];
}) {
	return async (): Promise<Check[]> => {
		const rows = await needs.store.sso.providers();
		const found = rows.map(async (row): Promise<Check[]> => {
			const { is } = await openProvider(needs, row);
			const slugs = is.settings.role_mappings.flatMap((mapping) => (hasRealm(mapping) ? [] : [mapping.realm]));
			const named = [...new Set(slugs)];
			if (named.length === 0) return [];
			const more = named.length > MAX_NAMED ? ` and ${named.length - MAX_NAMED} more` : "";
			return [
				{
					name: "sso",
					status: "warning",
					message: `role_mappings of ${row.name} grant nothing for slugs that named no realm, or perhaps another one, when they were set: ${named.slice(0, MAX_NAMED).join(", ")}${more}`,
					hint: `set its role_mappings again with \`svc sso set ${row.name}\``,
				},
			];
		});
		return (await Promise.all(found)).flat();
	};
}
