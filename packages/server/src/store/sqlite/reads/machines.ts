import { payerOf } from "../../../machines/decide.ts";
import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, isNull, sql } from "../drizzle.ts";
import { binding, machine, machineToken, realm } from "../schema.ts";
import { lazy, type ReadConnection, unverified } from "./read-connection.ts";

type Reads = Implementations<"read">["machines"];

const { placeholder } = sql;

/** Questions about machines and their tokens. */
export function machineReads(db: ReadConnection): Reads {
	const byName = lazy(() =>
		db
			.select()
			.from(machine)
			.where(and(eq(machine.realm_id, placeholder("realm_id")), eq(machine.name, placeholder("name"))))
			.prepare(),
	);
	const list = lazy(() =>
		db
			.select()
			.from(machine)
			.where(and(eq(machine.realm_id, placeholder("realm_id")), gt(machine.name, placeholder("after"))))
			.orderBy(asc(machine.name))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = lazy(() =>
		db
			.select({ total: count() })
			.from(unverified("machine"))
			.where(eq(machine.realm_id, placeholder("realm_id")))
			.prepare(),
	);
	return {
		byName: (realm_id, name) => byName().get({ realm_id, name }),
		byId: machineOf(db),
		list: (realm_id, after, limit) => list().all({ realm_id, after, limit }),
		count: (realm_id) => total().get({ realm_id })?.total ?? 0,
		...tokensOf(db),
	};
}

/** Prepares the questions about a machine's tokens. */
function tokensOf(db: ReadConnection): Pick<Reads, "tokens" | "countTokens"> {
	const list = lazy(() =>
		db
			.select()
			.from(machineToken)
			.where(and(eq(machineToken.machine_id, placeholder("machine_id")), gt(machineToken.id, placeholder("after"))))
			.orderBy(asc(machineToken.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = lazy(() =>
		db
			.select({ total: count() })
			.from(unverified("machine_token"))
			.where(eq(machineToken.machine_id, placeholder("machine_id")))
			.prepare(),
	);
	return {
		tokens: (machine_id, after, limit) => list().all({ machine_id, after, limit }),
		countTokens: (machine_id) => total().get({ machine_id })?.total ?? 0,
	};
}

/** Prepares the question for a machine of a live realm by its id. */
export function machineOf(db: ReadConnection): Reads["byId"] {
	const one = lazy(() =>
		db
			.select()
			.from(machine)
			.where(eq(machine.id, placeholder("id")))
			.prepare(),
	);
	const place = lazy(() =>
		db
			.select({ slug: realm.slug, owner_id: realm.user_id })
			.from(realm)
			.where(and(eq(realm.id, placeholder("realm_id")), isNull(realm.deleted_at)))
			.prepare(),
	);
	const bound = lazy(() =>
		db
			.select({ role: binding.role })
			.from(binding)
			.where(and(eq(binding.realm_id, placeholder("realm_id")), eq(binding.user_id, placeholder("user_id"))))
			.prepare(),
	);
	return (id) => {
		const found = one().get({ id });
		const where = found && place().get({ realm_id: found.realm_id });
		if (found === undefined || where === undefined) return undefined;
		const { realm_id, created_by } = found;
		const role = where.owner_id === created_by ? "admin" : bound().get({ realm_id, user_id: created_by })?.role;
		return { ...found, realm: where.slug, payer: payerOf(found, role ?? null) };
	};
}
