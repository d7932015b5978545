import type { Fields } from "@svc/protocol";
import { AppError } from "../../errors.ts";
import type { RealmStore } from "../../realms/model.ts";
import type { EngineStore } from "../model.ts";

/*
 * Anybody may make a realm and is its admin, so a configuration for all realms serves only those that it names. You give slugs, the server
 * keeps ids: a reused slug inherits nothing. Design: §13
 */

/** Dependencies of reading and showing these fields. */
interface AllowedNeeds {
	store: { realms: Pick<RealmStore, "access" | "named">; engines: Pick<EngineStore, "formerRealms"> };
}

/** Stands for every realm, present and future. */
export const EVERY_REALM = "*";

/** Fields of the configuration of all realms alone. */
const OF_ALL_REALMS = ["allowed_realms", "max_connections_per_realm"];

/** Refuses these fields in a configuration for one realm. @throws AppError validation_failed */
export function refuseAllowed(given: Fields): void {
	const field = OF_ALL_REALMS.find((name) => Object.hasOwn(given, name));
	if (field === undefined) return;
	throw new AppError(
		"validation_failed",
		`${field} belongs to the configuration for all realms: this one is for a single realm`,
	);
}

/** Finds the ids of the realms that checked fields name by slug, each once. @throws AppError missing_field, validation_failed */
export async function findAllowed({ store }: AllowedNeeds, { allowed_realms }: Fields): Promise<string[]> {
	if (allowed_realms === undefined) {
		throw new AppError(
			"missing_field",
			'allowed_realms is required: list the slugs of the realms to serve, or ["*"] for every realm (`svc engine set --allow-realm`)',
		);
	}
	const slugs = [...new Set(allowed_realms as string[])];
	if (!slugs.includes(EVERY_REALM)) return Promise.all(slugs.map((slug) => idOf(store.realms, slug)));
	if (slugs.length === 1) return slugs;
	throw new AppError("validation_failed", 'allowed_realms must be ["*"] alone, or a list of realm slugs');
}

async function idOf(realms: Pick<RealmStore, "access">, slug: string): Promise<string> {
	const realm = await realms.access(slug, "");
	if (realm !== undefined) return realm.id;
	throw new AppError("validation_failed", "allowed_realms names a realm that does not exist");
}

/** Lists the realms served: slugs of those that still exist; for a configuration that names none, slugs of its former users. */
export async function showAllowed(
	{ store }: AllowedNeeds,
	type: string,
	{ allowed_realms }: Fields,
): Promise<string[]> {
	const ids = allowed_realms as string[] | undefined;
	if (ids?.includes(EVERY_REALM)) return [EVERY_REALM];
	const realms =
		ids === undefined
			? (await store.engines.formerRealms()).filter(({ engine }) => engine === type)
			: await store.realms.named(ids);
	return realms.map(({ slug }) => slug);
}
