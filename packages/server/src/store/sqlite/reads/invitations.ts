import type { SQL } from "drizzle-orm";
import { type Invitation, type InvitationWithRoles, MAX_INVITATIONS_USED } from "../../../invitations/model.ts";
import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, isNull, sql } from "../drizzle.ts";
import { account, invitation, invitationBinding, realm } from "../schema.ts";
import { lazy, type ReadConnection, unverified } from "./read-connection.ts";

type Reads = Implementations<"read">["invitations"];

const { placeholder } = sql;

/** Questions about open invitations. */
export function invitationReads(db: ReadConnection): Reads {
	const isOpen = gt(invitation.expires_at, placeholder("now"));
	const byDigest = lazy(() =>
		db
			.select()
			.from(invitation)
			.where(and(eq(invitation.digest, placeholder("digest")), isOpen))
			.prepare(),
	);
	const withRoles = addingRoles(db);
	return {
		byDigest(digest, now) {
			const found = byDigest().get({ digest, now });
			return found && withRoles([found])[0];
		},
		forEmail: invitationsOfAddress(db, withRoles),
		...listReads(db, withRoles),
	};
}

/** Prepares the list of an address's invitations: those of instance admins first, then by age. Their ids tell it, which MACs cover. */
function invitationsOfAddress(db: ReadConnection, withRoles: AddRoles): Reads["forEmail"] {
	const oldest = (condition: SQL) =>
		lazy(() =>
			db
				.select()
				.from(invitation)
				.where(and(condition, gt(invitation.expires_at, placeholder("now"))))
				.orderBy(asc(invitation.id))
				.limit(MAX_INVITATIONS_USED)
				.prepare(),
		);
	const ofAll = oldest(eq(invitation.email, placeholder("email")));
	const admins = sql`(SELECT ${account.id} FROM ${account} WHERE ${account.instance_admin} = 1 AND ${account.disabled_at} IS NULL)`;
	// The sign keeps SQLite from reading all invitations of the address: these are found by their makers.
	const ofAdmins = oldest(
		sql`${invitation.created_by} IN ${admins} AND +${invitation.email} = ${placeholder("email")}`,
	);
	return (email, now) => {
		const found = [ofAdmins, ofAll].flatMap((question) => question().all({ email, now }));
		const once = new Map(found.map((one) => [one.id, one]));
		return withRoles([...once.values()].slice(0, MAX_INVITATIONS_USED));
	};
}

/** Prepares the lists of one maker's invitations, and of all. */
function listReads(db: ReadConnection, withRoles: AddRoles): Pick<Reads, "list" | "count"> {
	const created_by = placeholder("created_by");
	const isOpen = gt(invitation.expires_at, placeholder("now"));
	const [ofOne, ofAll] = [and(eq(invitation.created_by, created_by), isOpen), isOpen].map((isListed) => ({
		list: lazy(() =>
			db
				.select()
				.from(invitation)
				.where(and(isListed, gt(invitation.id, placeholder("after"))))
				.orderBy(asc(invitation.id))
				.limit(placeholder("limit"))
				.prepare(),
		),
		total: lazy(() => db.select({ total: count() }).from(unverified("invitation")).where(isListed).prepare()),
	}));
	const of = (whose: string) => (whose === "" ? ofAll : ofOne) as NonNullable<typeof ofAll>;
	return {
		list: (whose, now, after, limit) => withRoles(of(whose).list().all({ created_by: whose, now, after, limit })),
		count: (whose, now) => of(whose).total().get({ created_by: whose, now })?.total ?? 0,
	};
}

type AddRoles = (rows: readonly Invitation[]) => InvitationWithRoles[];

/** Prepares the question for the roles of all invitations of a page, in realms that live. */
function addingRoles(db: ReadConnection): AddRoles {
	const { invitation_id, realm_id, role } = invitationBinding;
	const roles = lazy(() =>
		db
			.select({ invitation_id, realm_id, realm: realm.slug, role })
			.from(invitationBinding)
			.innerJoin(realm, and(eq(realm.id, realm_id), isNull(realm.deleted_at)))
			.where(sql`${invitation_id} IN (SELECT value FROM json_each(${placeholder("ids")}))`)
			.orderBy(asc(realm.slug))
			.prepare(),
	);
	return (rows) => {
		const found = roles().all({ ids: JSON.stringify(rows.map(({ id }) => id)) });
		const given = Map.groupBy(found, (one) => one.invitation_id);
		const rolesOf = (id: string) => given.get(id)?.map(({ invitation_id: _, ...one }) => one) ?? [];
		return rows.map((row) => ({ ...row, bindings: rolesOf(row.id) }));
	};
}
