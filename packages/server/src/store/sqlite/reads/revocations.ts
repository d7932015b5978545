import { MAX_MADE_SHOWN } from "../../../revocation/model.ts";
import type { Implementations } from "../../store.ts";
import { and, desc, eq, gt, inArray, isNull, or, sql } from "../drizzle.ts";
import { invitation, machine, machineToken, realm, trust } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

const { placeholder } = sql;

const [user_id, since] = [placeholder("user_id"), placeholder("since")];
const isLive = and(eq(realm.id, machine.realm_id), isNull(realm.deleted_at));
const place = sql<string>`${realm.slug} || '/' || ${machine.name}`;
const isTheirs = and(eq(machine.created_by, user_id), gt(machine.created_at, since));

/** Questions about what a revocation can end. */
export function revocationReads(db: Reader): Implementations<"read">["revocations"] {
	const machines = later(() =>
		db
			.select({ realm: realm.slug, name: machine.name, role: machine.role, created_at: machine.created_at })
			.from(machine)
			.innerJoin(realm, isLive)
			.where(isTheirs)
			.orderBy(desc(machine.created_at))
			.limit(MAX_MADE_SHOWN)
			.prepare(),
	);
	const { id, prefix, created_at, expires_at } = machineToken;
	const tokens = later(() =>
		db
			.select({ id, machine: place, prefix, created_at, expires_at })
			.from(machineToken)
			.innerJoin(machine, eq(machine.id, machineToken.machine_id))
			.innerJoin(realm, isLive)
			.where(and(eq(machineToken.created_by, user_id), gt(created_at, since), gt(expires_at, placeholder("now"))))
			.orderBy(desc(created_at))
			.limit(MAX_MADE_SHOWN)
			.prepare(),
	);
	const trusts = later(() => trustsOf(db));
	const invitations = later(() => invitationsOf(db));
	return {
		made: (whose, from, now) => ({
			machines: machines().all({ user_id: whose, since: from }),
			machine_tokens: tokens().all({ user_id: whose, since: from, now }),
			trusts: trusts().all({ user_id: whose, since: from }),
			invitations: invitations().all({ user_id: whose, now }),
		}),
	};
}

/** Prepares the question which open invitations a user made. */
function invitationsOf(db: Reader) {
	const { id, email, created_at, expires_at } = invitation;
	return db
		.select({ id, email, created_at, expires_at })
		.from(invitation)
		.where(and(eq(invitation.created_by, user_id), gt(expires_at, placeholder("now"))))
		.orderBy(desc(created_at))
		.limit(MAX_MADE_SHOWN)
		.prepare();
}

/** Prepares the question which trusts a user added, or has on machines that they made. */
function trustsOf(db: Reader) {
	const { id, name, type, created_at } = trust;
	const isAdded = and(eq(trust.created_by, user_id), gt(created_at, since));
	const isOfTheirs = inArray(trust.machine_id, db.select({ id: machine.id }).from(machine).where(isTheirs));
	return db
		.select({ id, machine: place, name, type, created_at })
		.from(trust)
		.innerJoin(machine, eq(machine.id, trust.machine_id))
		.innerJoin(realm, isLive)
		.where(or(isAdded, isOfTheirs))
		.orderBy(desc(created_at))
		.limit(MAX_MADE_SHOWN)
		.prepare();
}
