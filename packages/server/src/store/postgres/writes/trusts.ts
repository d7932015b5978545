import { decideExchange, decideTrust } from "../../../trusts/decide.ts";
import type { UsedJwt } from "../../../trusts/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { addToken, isMachineLive } from "./machines.ts";

const NAMED = "machine_id = $1 AND name = $2";

/** Makes the operations on trusts, and on the tokens that they give. */
export function trustWrites(db: Change): Async<Implementations<"write">["trusts"]> {
	/** Ends a trust. @returns the tokens that ended with it */
	const end = async (id: string) => {
		const tokens = await db.remove("machine_token", "trust_id = $1", [id]);
		await db.remove("trust", "id = $1", [id]);
		return tokens;
	};
	// Each time: another server may have added some.
	const countUsed = ({ realm_id }: UsedJwt, now: string) =>
		db.count("trust_used", "realm_id = $1 AND until > $2", [realm_id, now]);
	return {
		async set(trust, event) {
			const { machine_id, name } = trust;
			const [found] = await db.stored("trust", NAMED, [machine_id, name]);
			const decision = decideTrust({
				isMachineLive: await isMachineLive(db, machine_id),
				isThere: found !== undefined,
				count: await db.count("trust", "machine_id = $1", [machine_id]),
			});
			if (decision !== "done") return decision;
			const tokens = found === undefined ? 0 : await end(found.id);
			await db.insert("trust", trust);
			db.append(event, { ...(tokens > 0 && { tokens }) });
			return "done";
		},
		async remove({ machine_id, name }, event) {
			const [found] = await db.stored("trust", NAMED, [machine_id, name]);
			if (found === undefined) return false;
			db.append(event, { tokens: await end(found.id) });
			return true;
		},
		async exchange({ token, used }, event) {
			const [trust] = await db.verified("trust", "id = $1", [token.trust_id]);
			const decision = decideExchange({
				isTrustThere: trust !== undefined && trust.machine_id === token.machine_id,
				isUsed: used !== undefined && (await db.has("trust_used", "digest = $1", [used.digest])),
				used: used === undefined ? 0 : await countUsed(used, token.created_at),
			});
			if (decision !== "done") return decision;
			const outcome = await addToken(db, token, event);
			if (outcome !== "done" || used === undefined) return outcome;
			await db.insert("trust_used", used);
			return outcome;
		},
		forgetUsed: (before) =>
			db.remove("trust_used", "digest IN (SELECT digest FROM trust_used WHERE until < $1 LIMIT 1000)", [before]),
	};
}
