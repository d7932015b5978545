import { limitsText } from "../../../machines/decide.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import { ownerOf } from "./accounts.ts";
import { machineById } from "./machines.ts";

type TokenReads = Async<Implementations<"read">["tokens"] & Implementations<"scan">["tokens"]>;

/** Selects the token $1 and all tokens made by it, directly or through others, altered rows included. */
export const LINEAGE = `WITH RECURSIVE lineage (id) AS (
	SELECT id FROM api_token WHERE id = $1
	UNION SELECT made.id FROM lineage JOIN api_token AS made ON made.maker_id = lineage.id
) SELECT id FROM lineage`;

/** Answers questions about API tokens. */
export function tokenReads(db: Snapshot): TokenReads {
	return {
		async owner(digest) {
			const [token] = await db.verified("api_token", "digest = $1", [digest]);
			if (token === undefined) return machineOwner(db, digest);
			const owner = await ownerOf(db, token.user_id);
			return owner && { ...token, ...owner, machine: undefined, payer: token.user_id };
		},
		async byId(id) {
			return (await db.verified("api_token", "id = $1", [id]))[0];
		},
		list: (user_id, after, limit) =>
			db.verified("api_token", "user_id = $1 AND id > $2 ORDER BY id LIMIT $3", [user_id, after, limit]),
		count: (user_id) => db.count("api_token", "user_id = $1", [user_id]),
		async listLineage(id, after, limit) {
			const lineage = (await verifiedLineage(db, id)).filter((one) => one > after).toSorted(byText);
			return db.verified("api_token", "id = ANY($1::text[]) ORDER BY id", [lineage.slice(0, limit)]);
		},
		countLineage: async (id) => (await verifiedLineage(db, id)).length,
	};
}

const byText = (one: string, other: string) => (one < other ? -1 : 1);

/** Lists the ids of the tokens of a lineage, up to altered rows. */
async function verifiedLineage(db: Snapshot, id: string): Promise<string[]> {
	const tokens = await db.verified("api_token", `id IN (${LINEAGE})`, [id]);
	const made = Map.groupBy(tokens, ({ maker_id }) => maker_id);
	const lineage = tokens.some((token) => token.id === id) ? [id] : [];
	// The list grows while it is walked through.
	for (const maker of lineage) lineage.push(...(made.get(maker) ?? []).map((token) => token.id));
	return lineage;
}

/** Finds a machine by its token: it may do what its machine may now, in its realm. */
async function machineOwner(db: Snapshot, digest: Buffer): ReturnType<TokenReads["owner"]> {
	const [token] = await db.verified("machine_token", "digest = $1", [digest]);
	const owner = token && (await machineById(db, token.machine_id));
	if (token === undefined || owner === undefined) return undefined;
	const { id: user_id, payer, name, scopes, realm_id, environment, engines } = owner;
	const caller = { name: `${owner.realm}/${name}`, limits: limitsText(owner) };
	const reach = { scopes, realm_id, environment, engines, expires_at: token.expires_at };
	return { id: token.id, user_id, email: "", name, instance_admin: false, ...reach, machine: caller, payer };
}
