import { AppError } from "../errors.ts";
import type { Role } from "../policy/model.ts";
import type { Realm, RealmStore } from "../realms/model.ts";

/*
 * You give slugs, the server keeps ids: a reused slug inherits nothing. Providers from before kept the slugs. Design: §13
 */

/** A role in a realm for members of a group, as an administrator gives it. */
export interface GivenMapping {
	group: string;
	/** Slug. */
	realm: string;
	role: Role;
}

/** The mapping as it is stored. */
export interface RoleMapping {
	group: string;
	realm_id: string;
	role: Role;
}

/** A stored mapping. One from before whose slug no longer identifies a realm grants nothing. */
export type StoredMapping = RoleMapping | GivenMapping;

/** Dependencies of naming realms. */
export interface RealmNeeds {
	store: { realms: Pick<RealmStore, "access" | "named"> };
}

/** Tells whether a mapping names its realm by id. */
export function hasRealm(mapping: StoredMapping): mapping is RoleMapping {
	return "realm_id" in mapping;
}

/** Finds the realms that mappings name by slug. @throws AppError validation_failed */
export async function keepMappings({ store }: RealmNeeds, given: readonly GivenMapping[]): Promise<RoleMapping[]> {
	const realms = await findRealms(store.realms, given);
	return given.map(({ group, realm, role }) => {
		const found = realms.get(realm);
		if (found === undefined) throw new AppError("validation_failed", "role_mappings names a realm that does not exist");
		return { group, realm_id: found.id, role };
	});
}

/** Shows mappings with the slugs of realms that still exist. */
export async function showMappings({ store }: RealmNeeds, stored: readonly StoredMapping[]): Promise<GivenMapping[]> {
	const kept = stored.filter(hasRealm);
	const named = await store.realms.named([...new Set(kept.map(({ realm_id }) => realm_id))]);
	const slugs = new Map(named.map(({ id, slug }) => [id, slug]));
	return kept.flatMap(({ group, realm_id, role }) => {
		const realm = slugs.get(realm_id);
		return realm === undefined ? [] : [{ group, realm, role }];
	});
}

/** Finds live realms by the slugs of mappings. */
export async function findRealms(
	realms: Pick<RealmStore, "access">,
	mappings: readonly GivenMapping[],
): Promise<Map<string, Pick<Realm, "id"> | undefined>> {
	const slugs = [...new Set(mappings.map(({ realm }) => realm))];
	return new Map(await Promise.all(slugs.map(async (slug) => [slug, await realms.access(slug, "")] as const)));
}
