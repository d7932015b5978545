import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import { decideExchange, decideTrust } from "../../../trusts/decide.ts";
import type { Trust, UsedJwt } from "../../../trusts/model.ts";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { UsedCounts } from "../used-counts.ts";
import { LIVE_REALM } from "./live-realm.ts";
import { addingToken, insertInto } from "./machines.ts";

const COLUMNS: readonly (keyof Trust)[] = [
	...(["id", "machine_id", "name", "type", "issuer", "trust_domain", "audience", "claims"] as const),
	...(["max_ttl_ms", "single_use", "jwks", "ca_cert", "keys_host", "created_by", "created_at"] as const),
];

/** Operations on trusts, and on the tokens that they give. */
export function trustWrites(db: Database, append: Append): Implementations<"write">["trusts"] {
	const isLive = machineIsLive(db);
	const id = db.prepare("SELECT id FROM trust WHERE machine_id = @machine_id AND name = @name").pluck();
	const count = db.prepare("SELECT count(*) FROM trust WHERE machine_id = ?").pluck();
	const insert = db.prepare(insertInto("trust", COLUMNS));
	const removeTokens = db.prepare("DELETE FROM machine_token WHERE trust_id = ?");
	const removeTrust = db.prepare("DELETE FROM trust WHERE id = ?");
	const forget = db.prepare(
		"DELETE FROM trust_used WHERE digest IN (SELECT digest FROM trust_used WHERE until < ? LIMIT 1000)",
	);
	/** @returns the tokens that ended with it */
	const end = (found: unknown) => {
		const { changes } = removeTokens.run(found);
		removeTrust.run(found);
		return changes;
	};
	return {
		set(trust, event) {
			const found = id.get(trust);
			const decision = decideTrust({
				isMachineLive: isLive(trust.machine_id),
				isThere: found !== undefined,
				count: count.get(trust.machine_id) as number,
			});
			if (decision !== "done") return decision;
			const tokens = found === undefined ? 0 : end(found);
			insert.run({ ...trust, single_use: trust.single_use ? 1 : 0 });
			append(event, { ...(tokens > 0 && { tokens }) });
			return "done";
		},
		remove(named, event) {
			const found = id.get(named);
			if (found === undefined) return false;
			append(event, { tokens: end(found) });
			return true;
		},
		exchange: exchanging(db, append),
		forgetUsed: (before) => forget.run(before).changes,
	};
}

function machineIsLive(db: Database): (machine_id: string) => boolean {
	const realm = db.prepare("SELECT realm_id FROM machine WHERE id = ?").pluck();
	const live = db.prepare(LIVE_REALM).pluck();
	return (machine_id) => {
		const realm_id = realm.get(machine_id);
		return realm_id !== undefined && live.get(realm_id) !== undefined;
	};
}

/** Prepares the function that gives a token for a JWT. */
function exchanging(db: Database, append: Append): Implementations<"write">["trusts"]["exchange"] {
	const trust = db.prepare(`SELECT machine_id FROM ${verified("trust")} WHERE id = ?`).pluck();
	const isUsed = db.prepare("SELECT 1 FROM trust_used WHERE digest = ?");
	const count = db.prepare("SELECT count(*) FROM trust_used WHERE realm_id = ? AND until > ?").pluck();
	const use = db.prepare("INSERT INTO trust_used (digest, realm_id, until) VALUES (@digest, @realm_id, @until)");
	const add = addingToken(db, append);
	const counts = new UsedCounts();
	const countUsed = ({ realm_id }: UsedJwt, now: string) =>
		counts.recall(realm_id, now) ?? counts.counted(realm_id, count.get(realm_id, now) as number, now);
	return ({ token, used }, event) => {
		const decision = decideExchange({
			isTrustThere: trust.get(token.trust_id) === token.machine_id,
			isUsed: used !== undefined && isUsed.get(used.digest) !== undefined,
			used: used === undefined ? 0 : countUsed(used, token.created_at),
		});
		if (decision !== "done") return decision;
		const outcome = add(token, event);
		if (outcome !== "done" || used === undefined) return outcome;
		use.run(used);
		counts.add(used.realm_id);
		return outcome;
	};
}
