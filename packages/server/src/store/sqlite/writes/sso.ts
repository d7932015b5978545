import type { Database } from "better-sqlite3";
import { isProofOf } from "../../../accounts/decide.ts";
import type { Account, OwnerProof } from "../../../accounts/model.ts";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import type { Role } from "../../../policy/model.ts";
import {
	decideLink,
	decideRoles,
	decideUnlink,
	granterOf,
	isLeftOut,
	isStillSo,
	type LinkedAccount,
	type LinkedIdentity,
	leftOut,
	type RealmOfRole,
	type RoleChange,
} from "../../../sso/decide.ts";
import type { IdentityKey, OneTime, SsoLogin } from "../../../sso/model.ts";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { INSERT_ACCOUNT } from "./accounts.ts";
import { factorUse } from "./factors.ts";
import { EMAIL_TAKEN, invitationUse } from "./invitations.ts";
import { knownSourceWrites } from "./known-sources.ts";
import { liveRealm } from "./live-realm.ts";
import { COUNT_BINDINGS, COUNT_MEMBERSHIPS, DELETE_BINDING, INSERT_BINDING } from "./policy.ts";
import { sessionOpening } from "./sessions.ts";

type SsoWrites = Implementations<"write">["sso"];

/** Operations on providers, and on logins through them. */
export function ssoWrites(db: Database, append: Append): SsoWrites {
	const use = db.prepare("INSERT INTO sso_used (digest, until) VALUES (@digest, @until) ON CONFLICT DO NOTHING");
	const forget = db.prepare(
		"DELETE FROM sso_used WHERE digest IN (SELECT digest FROM sso_used WHERE until < ? LIMIT 1000)",
	);
	const openSession = sessionOpening(db);
	const sources = knownSourceWrites(db);
	const people = peopleOf(db);
	const add = addition(db);
	const roles = roleWrites(db, append);
	const invitations = invitationUse(db, append);
	const isNew = (used: OneTime) => use.run(used).changes > 0;
	return {
		...providerWrites(db, append),
		...linkWrites(db, append),
		signIn(login, event) {
			const { session, arrival } = login;
			if (!isStillSo(login, people.arrival(login))) return "changed";
			const invited = arrival.kind === "created" ? arrival.invited : undefined;
			const email = arrival.kind === "created" ? arrival.account.email : "";
			const open = invitations.open(invited?.invitations ?? [], email, session.created_at);
			if (invited?.isNeeded && open.length === 0) return "not_invited";
			if (!login.used.map(isNew).every(Boolean)) return "replay";
			add(login);
			const ended = openSession(session);
			sources.note(session.user_id, login.known);
			const changes = roles.plan(login);
			const identity_id = arrival.kind === "known" ? undefined : login.link_id;
			const facts = { arrival: arrival.kind, identity_id, ...ended, ...invitations.end(open) };
			append(event, { ...facts, roles_left_out: leftOut(changes) });
			roles.make(login, changes, event);
			invitations.giveRoles(open, session.user_id, event);
			return changes.find(isLeftOut)?.left_out_by ?? "done";
		},
		consume: isNew,
		forgetUsed: (before) => forget.run(before).changes,
	};
}

function providerWrites(db: Database, append: Append): Pick<SsoWrites, "setProvider" | "removeProvider"> {
	const set = db.prepare(
		"INSERT INTO sso_provider (name, id, type, display_name, sealed, created_by, created_at) " +
			"VALUES (@name, @id, @type, @display_name, @sealed, @created_by, @created_at) ON CONFLICT (name) DO UPDATE " +
			"SET id = excluded.id, type = excluded.type, display_name = excluded.display_name, sealed = excluded.sealed, " +
			"created_by = excluded.created_by, created_at = excluded.created_at",
	);
	const current = db.prepare(`SELECT id FROM ${verified("sso_provider")} WHERE name = ?`).pluck();
	const remove = db.prepare("DELETE FROM sso_provider WHERE name = ?");
	return {
		setProvider({ replaces, ...row }, event) {
			if (replaces !== undefined && current.get(row.name) !== replaces) return false;
			set.run(row);
			append(event);
			return true;
		},
		removeProvider(name, event) {
			if (remove.run(name).changes === 0) return false;
			append(event);
			return true;
		},
	};
}

const INSERT_IDENTITY =
	"INSERT INTO sso_identity (id, provider, issuer, subject, user_id, is_vouched, made_account, created_at) " +
	"VALUES (@id, @provider, @issuer, @subject, @user_id, @is_vouched, @made_account, @at)";

/** Prepares the reads of accounts and their identities. */
function peopleOf(db: Database) {
	const owner = db
		.prepare(
			`SELECT user_id FROM ${verified("sso_identity")} WHERE provider = @provider AND issuer = @issuer AND subject = @subject`,
		)
		.pluck();
	const account = db.prepare(`SELECT password, disabled_at, instance_admin FROM ${verified("account")} WHERE id = ?`);
	const identities = db.prepare(`SELECT id, provider, is_vouched FROM ${verified("sso_identity")} WHERE user_id = ?`);
	const taken = db.prepare(EMAIL_TAKEN).pluck();
	const ownerOf = (identity: IdentityKey) => owner.get(identity) as string | undefined;
	const accountOf = (user_id: string): LinkedAccount | undefined => {
		const row = account.get(user_id) as Record<keyof LinkedAccount, never> | undefined;
		return row && { ...row, instance_admin: row.instance_admin === 1 };
	};
	const identitiesOf = (user_id: string): LinkedIdentity[] =>
		(identities.all(user_id) as Record<keyof LinkedIdentity, never>[]).map((row) => ({
			...row,
			is_vouched: row.is_vouched === 1,
		}));
	return {
		ownerOf,
		accountOf,
		identitiesOf,
		arrival: ({ identity, session: { user_id }, arrival }: SsoLogin) => ({
			owner_id: ownerOf(identity),
			account: accountOf(user_id),
			identities: identitiesOf(user_id),
			isEmailTaken: arrival.kind === "created" && taken.get(arrival.account.email) !== undefined,
		}),
	};
}

/** Makes the function that adds the account and the link of a login. */
function addition(db: Database): (login: SsoLogin) => void {
	const insert = db.prepare(INSERT_ACCOUNT);
	const attach = db.prepare(INSERT_IDENTITY);
	const add = (account: Account) => insert.run({ ...account, instance_admin: Number(account.instance_admin) });
	return ({ identity, link_id: id, session: { user_id, created_at: at }, arrival }) => {
		if (arrival.kind === "known") return;
		if (arrival.kind === "created") add(arrival.account);
		const is_vouched = Number(arrival.kind !== "created" || arrival.is_vouched);
		attach.run({ ...identity, id, user_id, at, is_vouched, made_account: Number(arrival.kind === "created") });
	};
}

/** Operations of an account's owner on its identities. */
function linkWrites(db: Database, append: Append): Pick<SsoWrites, "link" | "unlink"> {
	const people = peopleOf(db);
	const attach = db.prepare(INSERT_IDENTITY);
	const session = db.prepare(`SELECT provider FROM ${verified("session")} WHERE jti = ?`).pluck();
	const providers = db
		.prepare(
			`SELECT name FROM ${verified("sso_provider")} WHERE name IN (SELECT provider FROM ${verified("sso_identity")} WHERE user_id = ?)`,
		)
		.pluck();
	const remove = db.prepare("DELETE FROM sso_identity WHERE id = ? AND user_id = ?");
	const useFactor = factorUse(db, append);
	const doubt = db.prepare("UPDATE sso_identity SET is_vouched = 0 WHERE user_id = ?");
	const isProven = ({ user_id, proof }: { user_id: string; proof: OwnerProof }, identities: LinkedIdentity[]) => {
		const signed_in_at = session.get(proof.jti) as string | undefined;
		return isProofOf(
			people.accountOf(user_id),
			proof,
			identities.map(({ provider }) => provider),
			signed_in_at,
		);
	};
	/** Uses up the code of a second factor; an account without a password is not asked for one. */
	const useUp = ({ user_id, proof }: { user_id: string; proof: OwnerProof }, event: AuditEvent) => {
		const outcome = proof.password === null ? "done" : useFactor(user_id, proof.factor, event);
		return outcome === "changed" ? "unproven" : outcome;
	};
	return {
		link(link, event) {
			const identities = people.identitiesOf(link.user_id);
			if (!isProven(link, identities)) return "unproven";
			const decision = decideLink(link.user_id, people.ownerOf(link.identity), identities.length);
			if (decision !== "link") return decision;
			const { identity, id, user_id, at } = link;
			const outcome = useUp(link, event);
			if (outcome !== "done") return outcome;
			attach.run({ ...identity, id, user_id, at, is_vouched: 1, made_account: 0 });
			append(event);
			return "done";
		},
		unlink(input, event) {
			const { id, user_id } = input;
			const identities = people.identitiesOf(user_id);
			if (!isProven(input, identities)) return "unproven";
			const decision = decideUnlink(id, people.accountOf(user_id), identities, providers.all(user_id) as string[]);
			if (decision.outcome !== "done") return decision.outcome;
			const outcome = useUp(input, event);
			if (outcome !== "done") return outcome;
			remove.run(id, user_id);
			if (!decision.isVouched) doubt.run(user_id);
			append(event, { provider: decision.provider });
			return "done";
		},
	};
}

/** Updates the roles that the provider granted. */
function roleWrites(db: Database, append: Append) {
	const find = db.prepare(liveRealm("slug, user_id"));
	const current = db.prepare(`SELECT role, granted_by FROM ${verified("binding")} WHERE realm_id = ? AND user_id = ?`);
	const count = db.prepare(COUNT_BINDINGS).pluck();
	const memberships = db.prepare(COUNT_MEMBERSHIPS).pluck();
	const remove = db.prepare(DELETE_BINDING);
	const granted = db
		.prepare(
			"SELECT realm_id FROM binding JOIN realm ON realm.id = realm_id " +
				"WHERE binding.user_id = ? AND granted_by = ? AND deleted_at IS NULL",
		)
		.pluck();
	const insert = db.prepare(INSERT_BINDING);

	function realmOf(user_id: string, realm_id: string): RealmOfRole | undefined {
		const found = find.get(realm_id) as { slug: string; user_id: string } | undefined;
		if (found === undefined) return undefined;
		const held = current.get(realm_id, user_id) as RealmOfRole["held"];
		return { slug: found.slug, owner_id: found.user_id, held, count: count.get(realm_id) as number };
	}

	return {
		plan(login: SsoLogin): RoleChange[] {
			const { user_id } = login.session;
			const former = granted.all(user_id, granterOf(login)) as string[];
			return decideRoles(login, former, memberships.get(user_id) as number, (id) => realmOf(user_id, id));
		},
		make(login: SsoLogin, changes: readonly RoleChange[], event: AuditEvent): void {
			const { user_id } = login.session;
			const granted_by = granterOf(login);
			const { request_id, ip } = event.data;
			for (const { id, realm_id, slug: realm, role, isHeld } of changes.filter((change) => !isLeftOut(change))) {
				const note = (type: "policy.binding.created" | "policy.binding.deleted", facts: { role?: Role }) =>
					append({ ...event, type, realm_id, realm, data: { user_id, granted_by, ...facts, request_id, ip } });
				if (isHeld) {
					remove.run({ realm_id, user_id });
					note("policy.binding.deleted", {});
				}
				if (role !== undefined) {
					insert.run({ id, realm_id, user_id, role, granted_by, created_at: event.timestamp });
					note("policy.binding.created", { role });
				}
			}
		},
	};
}
