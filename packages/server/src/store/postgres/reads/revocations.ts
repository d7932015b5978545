import { MAX_MADE_SHOWN } from "../../../revocation/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import type { StoredRows } from "../stored-rows.ts";

const MADE = "created_by = $1 AND created_at > $2";
const NEWEST = `ORDER BY created_at DESC LIMIT ${MAX_MADE_SHOWN}`;

/** Condition that a machine is in a realm that lives. */
const isLive = (machine: string) =>
	`EXISTS (SELECT 1 FROM machine AS own JOIN realm ON realm.id = own.realm_id WHERE own.id = ${machine} AND deleted_at IS NULL)`;

/** Answers questions about what a revocation can end. */
export function revocationReads(db: Snapshot): Async<Implementations<"scan">["revocations"]> {
	return {
		async made(whose, since, now) {
			const by = [whose, since];
			const machines = await db.verified("machine", `${MADE} AND ${isLive("machine.id")} ${NEWEST}`, by);
			const live = isLive("machine_id");
			const tokens = await db.verified("machine_token", `${MADE} AND expires_at > $3 AND ${live} ${NEWEST}`, [
				...by,
				now,
			]);
			const theirs = `(${MADE} OR machine_id IN (SELECT id FROM machine WHERE ${MADE}))`;
			const trusts = await db.verified("trust", `${theirs} AND ${live} ${NEWEST}`, by);
			const open = "created_by = $1 AND expires_at > $2";
			const invitations = await db.verified("invitation", `${open} ORDER BY id DESC LIMIT ${MAX_MADE_SHOWN}`, [
				whose,
				now,
			]);
			const machineName = await machineNames(db, [...tokens, ...trusts]);
			const slugs = await slugsOf(db, machines);
			return {
				machines: machines.map(({ realm_id, name, role, created_at }) => ({
					realm: slugs.get(realm_id) ?? "",
					name,
					role,
					created_at,
				})),
				machine_tokens: tokens.map(({ id, machine_id, prefix, created_at, expires_at }) => ({
					id,
					machine: machineName(machine_id),
					prefix,
					created_at,
					expires_at,
				})),
				trusts: trusts.map(({ id, machine_id, name, type, created_at }) => ({
					id,
					machine: machineName(machine_id),
					name,
					type,
					created_at,
				})),
				invitations: invitations.map(({ id, email, created_at, expires_at }) => ({
					id,
					email,
					created_at,
					expires_at,
				})),
			};
		},
	};
}

/** Reads the names of machines, as `realm/machine`. */
async function machineNames(db: Snapshot, rows: readonly { machine_id: string }[]): Promise<(id: string) => string> {
	const ids = rows.map(({ machine_id }) => machine_id);
	const machines = await db.verified("machine", "id = ANY($1::text[])", [ids]);
	const slugs = await slugsOf(db, machines);
	const known = new Map(machines.map(({ id, realm_id, name }) => [id, `${slugs.get(realm_id) ?? ""}/${name}`]));
	return (id) => known.get(id) ?? "";
}

async function slugsOf(db: Snapshot, machines: readonly StoredRows["machine"][]): Promise<Map<string, string>> {
	const ids = machines.map(({ realm_id }) => realm_id);
	const realms = await db.verified("realm", "id = ANY($1::text[])", [ids]);
	return new Map(realms.map(({ id, slug }) => [id, slug]));
}
