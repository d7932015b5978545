import { payerOf } from "../../../machines/decide.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import { liveRealm, roleIn } from "./realm-rows.ts";

type MachineReads = Async<Implementations<"read">["machines"]>;

/** Answers questions about machines and their tokens. */
export function machineReads(db: Snapshot): MachineReads {
	return {
		async byName(realm_id, name) {
			return (await db.verified("machine", "realm_id = $1 AND name = $2", [realm_id, name]))[0];
		},
		byId: (id) => machineById(db, id),
		list: (realm_id, after, limit) =>
			db.verified("machine", "realm_id = $1 AND name > $2 ORDER BY name LIMIT $3", [realm_id, after, limit]),
		count: (realm_id) => db.count("machine", "realm_id = $1", [realm_id]),
		tokens: (machine_id, after, limit) =>
			db.verified("machine_token", "machine_id = $1 AND id > $2 ORDER BY id LIMIT $3", [machine_id, after, limit]),
		countTokens: (machine_id) => db.count("machine_token", "machine_id = $1", [machine_id]),
	};
}

/** Finds a machine of a live realm. */
export async function machineById(db: Snapshot, id: string): Promise<Awaited<ReturnType<MachineReads["byId"]>>> {
	const [found] = await db.verified("machine", "id = $1", [id]);
	const realm = found && (await liveRealm(db, found.realm_id));
	if (found === undefined || realm === undefined) return undefined;
	return { ...found, realm: realm.slug, payer: payerOf(found, await roleIn(db, realm, found.created_by)) };
}
