import type { TokenStore } from "../../../tokens/model.ts";
import { and, asc, count, eq, gt, isNull, sql } from "../drizzle.ts";
import { account, apiToken } from "../schema.ts";
import type { Reader } from "./reader.ts";

const { placeholder } = sql;

/** Questions about API tokens. */
export function tokenReads(db: Reader): Pick<TokenStore, "owner" | "byId" | "list" | "count"> {
	const owner = db
		.select({
			id: apiToken.id,
			user_id: apiToken.user_id,
			email: account.email,
			name: account.name,
			instance_admin: account.instance_admin,
			scopes: apiToken.scopes,
			realm_id: apiToken.realm_id,
			environment: apiToken.environment,
			expires_at: apiToken.expires_at,
			last_used_at: apiToken.last_used_at,
		})
		.from(apiToken)
		.innerJoin(account, eq(account.id, apiToken.user_id))
		.where(and(eq(apiToken.digest, placeholder("digest")), isNull(account.disabled_at)))
		.prepare();
	const byId = db
		.select()
		.from(apiToken)
		.where(eq(apiToken.id, placeholder("id")))
		.prepare();
	const list = db
		.select()
		.from(apiToken)
		.where(and(eq(apiToken.user_id, placeholder("user_id")), gt(apiToken.id, placeholder("after"))))
		.orderBy(asc(apiToken.id))
		.limit(placeholder("limit"))
		.prepare();
	const total = db
		.select({ total: count() })
		.from(apiToken)
		.where(eq(apiToken.user_id, placeholder("user_id")))
		.prepare();
	return {
		owner: async (digest) => owner.get({ digest }),
		byId: async (id) => byId.get({ id }),
		list: async (user_id, after, limit) => list.all({ user_id, after, limit }),
		count: async (user_id) => total.get({ user_id })?.total ?? 0,
	};
}
