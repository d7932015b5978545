import { MAX_MADE_SHOWN } from "../../../revocation/model.ts";
import type { Implementations } from "../../store.ts";
import { and, desc, eq, gt, isNull, sql } from "../drizzle.ts";
import { invitation, machine, machineToken, realm } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

const { placeholder } = sql;

/** Questions about what a revocation can end. */
export function revocationReads(db: Reader): Implementations<"read">["revocations"] {
	const [user_id, since] = [placeholder("user_id"), placeholder("since")];
	const isLive = and(eq(realm.id, machine.realm_id), isNull(realm.deleted_at));
	const machines = later(() =>
		db
			.select({ realm: realm.slug, name: machine.name, role: machine.role, created_at: machine.created_at })
			.from(machine)
			.innerJoin(realm, isLive)
			.where(and(eq(machine.created_by, user_id), gt(machine.created_at, since)))
			.orderBy(desc(machine.created_at))
			.limit(MAX_MADE_SHOWN)
			.prepare(),
	);
	const { id, prefix, created_at, expires_at } = machineToken;
	const tokens = later(() =>
		db
			.select({ id, machine: sql<string>`${realm.slug} || '/' || ${machine.name}`, prefix, created_at, expires_at })
			.from(machineToken)
			.innerJoin(machine, eq(machine.id, machineToken.machine_id))
			.innerJoin(realm, isLive)
			.where(and(eq(machineToken.created_by, user_id), gt(created_at, since), gt(expires_at, placeholder("now"))))
			.orderBy(desc(created_at))
			.limit(MAX_MADE_SHOWN)
			.prepare(),
	);
	const { email } = invitation;
	const invitations = later(() =>
		db
			.select({ id: invitation.id, email, created_at: invitation.created_at, expires_at: invitation.expires_at })
			.from(invitation)
			.where(and(eq(invitation.created_by, user_id), gt(invitation.expires_at, placeholder("now"))))
			.orderBy(desc(invitation.created_at))
			.limit(MAX_MADE_SHOWN)
			.prepare(),
	);
	return {
		made: (whose, from, now) => ({
			machines: machines().all({ user_id: whose, since: from }),
			machine_tokens: tokens().all({ user_id: whose, since: from, now }),
			invitations: invitations().all({ user_id: whose, now }),
		}),
	};
}
