import { limitsText } from "../../../machines/decide.ts";
import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, sql } from "../drizzle.ts";
import { apiToken, machineToken } from "../schema.ts";
import { accountOf } from "./accounts.ts";
import { machineOf } from "./machines.ts";
import { lazy, type ReadConnection, unverified } from "./read-connection.ts";

type Reads = Implementations<"read">["tokens"];

const { placeholder } = sql;

/** Questions about API tokens. */
export function tokenReads(db: ReadConnection): Reads {
	const byDigest = lazy(() =>
		db
			.select()
			.from(apiToken)
			.where(eq(apiToken.digest, placeholder("digest")))
			.prepare(),
	);
	const account = accountOf(db);
	const machineOwner = machineOwnerOf(db);
	const byId = lazy(() =>
		db
			.select()
			.from(apiToken)
			.where(eq(apiToken.id, placeholder("id")))
			.prepare(),
	);
	const list = lazy(() =>
		db
			.select()
			.from(apiToken)
			.where(and(eq(apiToken.user_id, placeholder("user_id")), gt(apiToken.id, placeholder("after"))))
			.orderBy(asc(apiToken.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = lazy(() =>
		db
			.select({ total: count() })
			.from(unverified("api_token"))
			.where(eq(apiToken.user_id, placeholder("user_id")))
			.prepare(),
	);
	return {
		owner(digest) {
			const token = byDigest().get({ digest });
			if (token === undefined) return machineOwner(digest);
			const owner = account(token.user_id);
			return owner && { ...token, ...owner, machine: undefined, payer: token.user_id };
		},
		byId: (id) => byId().get({ id }),
		list: (user_id, after, limit) => list().all({ user_id, after, limit }),
		count: (user_id) => total().get({ user_id })?.total ?? 0,
	};
}

/** Prepares the question for a machine by its token: it may do what its machine may now, in its realm. */
function machineOwnerOf(db: ReadConnection): Reads["owner"] {
	const byDigest = lazy(() =>
		db
			.select({ id: machineToken.id, machine_id: machineToken.machine_id, expires_at: machineToken.expires_at })
			.from(machineToken)
			.where(eq(machineToken.digest, placeholder("digest")))
			.prepare(),
	);
	const machine = machineOf(db);
	return (digest) => {
		const token = byDigest().get({ digest });
		if (token === undefined) return undefined;
		const owner = machine(token.machine_id);
		if (owner === undefined) return undefined;
		const { id: user_id, payer, name, scopes, realm_id, environment, engines } = owner;
		const caller = { name: `${owner.realm}/${name}`, limits: limitsText(owner) };
		const reach = { scopes, realm_id, environment, engines, expires_at: token.expires_at };
		return { id: token.id, user_id, email: "", name, instance_admin: false, ...reach, machine: caller, payer };
	};
}
