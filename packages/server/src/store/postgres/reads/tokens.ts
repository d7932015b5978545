import { limitsText } from "../../../machines/decide.ts";
import type { Implementations } from "../../store.ts";
import type { Late, Snapshot } from "../database.ts";
import { ownerOf } from "./accounts.ts";
import { machineById } from "./machines.ts";

type TokenReads = Late<Implementations<"read">["tokens"] & Implementations<"scan">["tokens"]>;

/** Selects the token $1 and all tokens made by it, directly or through others, altered rows included. */
export const LINE = `WITH RECURSIVE line (id) AS (
	SELECT id FROM api_token WHERE id = $1
	UNION SELECT made.id FROM line JOIN api_token AS made ON made.maker_id = line.id
) SELECT id FROM line`;

/** Answers questions about API tokens. */
export function tokenReads(db: Snapshot): TokenReads {
	return {
		async owner(digest) {
			const [token] = await db.believed("api_token", "digest = $1", [digest]);
			if (token === undefined) return machineOwner(db, digest);
			const owner = await ownerOf(db, token.user_id);
			return owner && { ...token, ...owner, machine: undefined, payer: token.user_id };
		},
		async byId(id) {
			return (await db.believed("api_token", "id = $1", [id]))[0];
		},
		list: (user_id, after, limit) =>
			db.believed("api_token", "user_id = $1 AND id > $2 ORDER BY id LIMIT $3", [user_id, after, limit]),
		count: (user_id) => db.count("api_token", "user_id = $1", [user_id]),
		async listLine(id, after, limit) {
			const line = (await believedLine(db, id)).filter((one) => one > after).toSorted(byText);
			return db.believed("api_token", "id = ANY($1::text[]) ORDER BY id", [line.slice(0, limit)]);
		},
		countLine: async (id) => (await believedLine(db, id)).length,
	};
}

const byText = (one: string, other: string) => (one < other ? -1 : 1);

/** Names the tokens of a line; an altered row cuts it off. */
async function believedLine(db: Snapshot, id: string): Promise<string[]> {
	const tokens = await db.believed("api_token", `id IN (${LINE})`, [id]);
	const made = Map.groupBy(tokens, ({ maker_id }) => maker_id);
	const line = tokens.some((token) => token.id === id) ? [id] : [];
	// The list grows while it is walked through.
	for (const maker of line) line.push(...(made.get(maker) ?? []).map((token) => token.id));
	return line;
}

/** Finds a machine by its token: it may do what its machine may now, in its realm. */
async function machineOwner(db: Snapshot, digest: Buffer): ReturnType<TokenReads["owner"]> {
	const [token] = await db.believed("machine_token", "digest = $1", [digest]);
	const owner = token && (await machineById(db, token.machine_id));
	if (token === undefined || owner === undefined) return undefined;
	const { id: user_id, payer, name, scopes, realm_id, environment, engines } = owner;
	const caller = { name: `${owner.realm}/${name}`, limits: limitsText(owner) };
	const reach = { scopes, realm_id, environment, engines, expires_at: token.expires_at };
	return { id: token.id, user_id, email: "", name, instance_admin: false, ...reach, machine: caller, payer };
}
