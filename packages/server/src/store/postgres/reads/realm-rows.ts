import type { Realm, RealmAccess } from "../../../realms/model.ts";
import type { Snapshot } from "../database.ts";
import type { StoredRows } from "../stored-rows.ts";

type RealmRow = StoredRows["realm"];

/** Finds a realm that is not deleted, by its id. */
export async function liveRealm(db: Snapshot, id: string): Promise<RealmRow | undefined> {
	const [found] = await db.verified("realm", "id = $1 AND deleted_at IS NULL", [id]);
	return found;
}

/** Takes the columns of a realm that callers see. */
export function shown({ id, slug, name, description, user_id, created_at }: RealmRow): Realm {
	return { id, slug, name, description, user_id, created_at };
}

/** Reads a user's role in a realm; null for users who are not members. */
export async function roleIn(
	db: Snapshot,
	realm: Pick<Realm, "id" | "user_id">,
	user_id: string,
): Promise<RealmAccess["role"]> {
	if (realm.user_id === user_id) return "admin";
	const [bound] = await db.verified("binding", "realm_id = $1 AND user_id = $2", [realm.id, user_id]);
	if (bound !== undefined) return bound.role;
	const [machine] = await db.verified("machine", "id = $1 AND realm_id = $2", [user_id, realm.id]);
	return machine?.role ?? null;
}

/** Names the realms that a user, or a machine, has a role in without owning them. */
export async function memberships(db: Snapshot, user_id: string): Promise<string[]> {
	const bindings = await db.verified("binding", "user_id = $1", [user_id]);
	const machines = await db.verified("machine", "id = $1", [user_id]);
	return [...bindings, ...machines].map(({ realm_id }) => realm_id);
}

/** Names the live realms that a user owns or has a role in. */
export async function realmsOf(db: Snapshot, user_id: string): Promise<string[]> {
	const bindings = await db.verified("binding", "user_id = $1", [user_id]);
	const found = await db.verified("realm", "deleted_at IS NULL AND (user_id = $1 OR id = ANY($2::text[]))", [
		user_id,
		bindings.map(({ realm_id }) => realm_id),
	]);
	return found.map(({ id }) => id);
}

/** Reads a user's role in a realm by its id; undefined when no such realm lives. */
export async function roleById(
	db: Snapshot,
	realm_id: string,
	user_id: string,
): Promise<RealmAccess["role"] | undefined> {
	const realm = await liveRealm(db, realm_id);
	return realm && roleIn(db, realm, user_id);
}
