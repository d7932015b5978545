import { decideChange, decideRealm } from "../../../realms/decide.ts";
import { IS_UNUSED, ofMachinesIn } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { liveRealm } from "../reads/realm-rows.ts";
import { addKey } from "./keys.ts";
import { revokeLeases } from "./lease-revocation.ts";
import { bindingCounts } from "./policy.ts";
import { endRestricted, purgeWrites } from "./purge.ts";

type RealmWrites = Async<Implementations<"write">["realms"]>;

/** Condition that a row belongs to a machine of realm $1. */
const OF_MACHINES = ofMachinesIn("$1");

/** Makes the operations on realms. */
export function realmWrites(db: Change): RealmWrites {
	return {
		async create({ realm, key, realms_per_account }, event) {
			const facts = { isSlugTaken: await isSlugTaken(db, realm.slug), ...(await holdings(db, realm.user_id)) };
			const decision = decideRealm(facts, realms_per_account);
			if (decision !== "done") return decision;
			await db.insert("realm", { ...realm, deleted_at: null, deleted_by: null, bytes: 0, keys: 0 });
			await addKey(db, key);
			db.append(event);
			return "done";
		},
		async remove({ id, deleted_at }, event) {
			const changes = { deleted_at, deleted_by: event.actor };
			if ((await db.update("realm", changes, "id = $1 AND deleted_at IS NULL", [id])) === 0) return false;
			// Leases that are being made are left to their makers: activating one finds the realm gone.
			const selection = { realm_id: id, user_id: undefined, engine: undefined, now_ms: Date.parse(deleted_at) };
			const leases = await revokeLeases(db, selection, "realm_deleted");
			await db.update("engine_config", { state: "retired" }, "realm_id = $1 AND state = 'active'", [id]);
			await db.remove("engine_config", `realm_id = $1 AND ${IS_UNUSED}`, [id]);
			await db.remove("invitation_binding", "realm_id = $1", [id]);
			// They grant nothing from now on: `endRestricted` removes them in parts.
			const machine_tokens = await db.count("machine_token", OF_MACHINES, [id]);
			const trusts = await db.count("trust", OF_MACHINES, [id]);
			db.append(event, {
				...(leases > 0 && { leases }),
				...(machine_tokens > 0 && { machine_tokens }),
				...(trusts > 0 && { trusts }),
			});
			return true;
		},
		change: (input, event) => change(db, input, event),
		...purgeWrites(db),
		async restore({ id, slug, user_id, since }, event) {
			const found = await db.verified("realm", "id = $1 AND user_id = $2 AND deleted_at > $3", [id, user_id, since]);
			if (found.length === 0) return "not_found";
			if (await isSlugTaken(db, slug)) return "slug_taken";
			// Usually there are none left: nothing is added to a realm that does not live.
			while ((await endRestricted(db, id)) > 0);
			await db.update("realm", { slug, deleted_at: null, deleted_by: null }, "id = $1", [id]);
			db.append(event);
			return "done";
		},
		async purge({ id, deleted_before }, event) {
			if (!(await db.has("realm", "id = $1 AND deleted_at < $2", [id, deleted_before]))) return false;
			await endRows(db, id);
			await db.remove("realm", "id = $1", [id]);
			await db.remove("keyring", "realm_id = $1", [id]);
			await db.remove("engine_config", "realm_id = $1 AND state = 'generated'", [id]);
			db.append(event);
			return true;
		},
	};
}

/** Tells whether a live realm has a slug. One that another program marked as deleted is refused: its slug stays taken. */
async function isSlugTaken(db: Change, slug: string): Promise<boolean> {
	const realms = await db.verified("realm", "slug = $1", [slug]);
	return realms.some(({ deleted_at }) => deleted_at === null);
}

/** Counts an account's realms, and reads its own limit of them. */
async function holdings(db: Change, user_id: string): Promise<{ owned: number; own_limit: number | null }> {
	const [limit] = await db.verified("account_limit", "user_id = $1", [user_id]);
	return { owned: await db.count("realm", "user_id = $1", [user_id]), own_limit: limit?.realms ?? null };
}

/** Changes a realm and its owner. */
async function change(
	db: Change,
	...[input, event]: Parameters<RealmWrites["change"]>
): ReturnType<RealmWrites["change"]> {
	const { id, name, description, user_id, kept } = input;
	const owner_id = (await liveRealm(db, id))?.user_id;
	const isEnabled = async (account: string | undefined) =>
		(await db.verified("account", "id = $1 AND disabled_at IS NULL", [account])).length > 0;
	const [heir] = await db.verified("binding", "realm_id = $1 AND user_id = $2", [id, user_id]);
	const decision = decideChange(input, {
		owner_id,
		isOwnerEnabled: await isEnabled(owner_id),
		isHeir: heir?.role === "admin" && (await isEnabled(user_id)),
		...(await holdings(db, user_id)),
		memberships: (await bindingCounts(db, id, owner_id ?? "")).memberships,
	});
	if (decision !== "done") return decision;
	await db.update("realm", { name, description, user_id }, "id = $1", [id]);
	if (user_id !== owner_id) {
		await db.remove("binding", "realm_id = $1 AND user_id = ANY($2::text[])", [id, [user_id, owner_id]]);
		if (kept !== undefined) await db.insert("binding", kept);
	}
	db.append(event);
	return "done";
}

/** Ends all rows that refer to a realm. */
async function endRows(db: Change, id: string): Promise<void> {
	await db.remove("secret_version", "secret_id IN (SELECT id FROM secret WHERE realm_id = $1)", [id]);
	await db.remove("deleted_version", "deletion_id IN (SELECT id FROM deleted_secret WHERE realm_id = $1)", [id]);
	await db.remove("machine_token", OF_MACHINES, [id]);
	await db.remove("trust", OF_MACHINES, [id]);
	for (const table of OF_REALM) await db.remove(table, "realm_id = $1", [id]);
}

const OF_REALM = [
	...(["secret", "deleted_secret", "machine", "api_token", "binding", "invitation_binding"] as const),
	"engine_former_realm",
] as const;
