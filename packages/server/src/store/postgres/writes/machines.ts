import type { AuditEvent } from "../../../audit/model.ts";
import { decideMachine, decideMachineToken } from "../../../machines/decide.ts";
import type { MachineToken } from "../../../machines/model.ts";
import { rowAltered } from "../../errors.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { liveRealm } from "../reads/realm-rows.ts";

const NAMED = "realm_id = $1 AND name = $2";

/** Makes the operations on machines and their tokens. */
export function machineWrites(db: Change): Async<Implementations<"write">["machines"]> {
	return {
		async set(machine, event) {
			const { realm_id, name, role, scopes, environment, engines, description } = machine;
			const [found] = await db.stored("machine", NAMED, [realm_id, name]);
			const decision = decideMachine({
				isRealmLive: (await liveRealm(db, realm_id)) !== undefined,
				isThere: found !== undefined,
				count: await db.count("machine", "realm_id = $1", [realm_id]),
			});
			if (decision !== "done") return decision;
			if (found === undefined) await db.insert("machine", machine);
			else {
				// A row that another program altered stays as it is.
				if ((await db.verified("machine", "id = $1", [found.id])).length === 0) throw rowAltered();
				await db.update("machine", { role, scopes, environment, engines, description }, "id = $1", [found.id]);
			}
			db.append(event, { machine_id: found?.id ?? machine.id });
			return "done";
		},
		async remove({ realm_id, name }, event) {
			const [found] = await db.stored("machine", NAMED, [realm_id, name]);
			if (found === undefined) return false;
			const tokens = await db.remove("machine_token", "machine_id = $1", [found.id]);
			const trusts = await db.remove("trust", "machine_id = $1", [found.id]);
			await db.remove("machine", "id = $1", [found.id]);
			db.append(event, { tokens, ...(trusts > 0 && { trusts }) });
			return true;
		},
		addToken: (token, event) => addToken(db, token, event),
		async revokeToken({ id, machine_id }, event) {
			if ((await db.remove("machine_token", "id = $1 AND machine_id = $2", [id, machine_id])) === 0) return false;
			db.append(event);
			return true;
		},
	};
}

/** Tells whether a machine is there, in a realm that lives. */
export async function isMachineLive(db: Change, id: string): Promise<boolean> {
	const [machine] = await db.stored("machine", "id = $1", [id]);
	return machine !== undefined && (await liveRealm(db, machine.realm_id)) !== undefined;
}

/** Adds a token of a machine. */
export async function addToken(
	db: Change,
	token: MachineToken,
	event: AuditEvent,
): Promise<"done" | "gone" | "limit_reached"> {
	const { machine_id, trust_id, created_at } = token;
	if (!(await isMachineLive(db, machine_id))) return "gone";
	const isTrusted = trust_id !== null;
	const decision = decideMachineToken(isTrusted, {
		live: await db.count("machine_token", "machine_id = $1 AND expires_at > $2 AND (trust_id IS NOT NULL) = $3", [
			machine_id,
			created_at,
			isTrusted,
		]),
		expired: await db.count("machine_token", "machine_id = $1 AND expires_at <= $2", [machine_id, created_at]),
	});
	if (decision.outcome !== "done") return decision.outcome;
	await db.insert("machine_token", token);
	await db.remove(
		"machine_token",
		"id IN (SELECT id FROM machine_token WHERE machine_id = $1 AND expires_at <= $2 ORDER BY expires_at LIMIT $3)",
		[machine_id, created_at, decision.forgotten],
	);
	db.append(event);
	return "done";
}
