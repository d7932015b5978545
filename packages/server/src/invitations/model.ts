import * as v from "valibot";
import { Email } from "../accounts/model.ts";
import type { AuditEvent } from "../audit/model.ts";
import { errorMessage, RequiredText } from "../messages.ts";
import { type Port, read, write } from "../operation.ts";
import { Role } from "../policy/model.ts";

/** Milliseconds for which an invitation can be used. Design: §15 */
export const INVITATION_MS = 7 * 24 * 60 * 60 * 1000;

/** Open invitations of one account. Design: §13 */
export const MAX_INVITATIONS = 100;

/** Roles of one invitation. */
const MAX_INVITED_ROLES = 10;

/** Open invitations into one realm, and as many more of its owner. Design: §13 */
export const MAX_INVITATIONS_OF_REALM = 50;

/** Invitations of one address that a verified sign-in uses: those of instance admins, then others, each the oldest first. */
export const MAX_INVITATIONS_USED = 20;

const TOO_MANY = errorMessage("validation_failed", `bindings must be at most ${MAX_INVITED_ROLES}`);
const TWICE = errorMessage("validation_failed", "bindings must name each realm once");

const Bindings = v.pipe(
	v.array(v.object({ realm: RequiredText, role: Role })),
	v.maxLength(MAX_INVITED_ROLES, TOO_MANY),
	v.check((bindings) => new Set(bindings.map(({ realm }) => realm)).size === bindings.length, TWICE),
);

/** Design: §15. */
export const CreateInvitation = v.object({ email: Email, bindings: v.nullish(Bindings, []) });

/** An invitation to make an account with an address. */
export interface Invitation {
	id: string;
	/** The only address that can use it. */
	email: string;
	/** Digest of the code, by crypto/codes.ts. */
	digest: Buffer;
	/** User who made it. */
	created_by: string;
	/** ISO 8601 UTC. */
	created_at: string;
	expires_at: string;
}

/** A role that an invitation gives in a realm. */
export interface InvitedRole {
	realm_id: string;
	/** Slug. */
	realm: string;
	role: Role;
}

/** An invitation with the roles that it gives in realms that live. */
export interface InvitationWithRoles extends Invitation {
	bindings: InvitedRole[];
}

/** The outcome of making an invitation; any answer but `done` means that nothing changed. */
export type Invited = "done" | "has_account" | "realm_gone" | "limit_reached" | "realm_limit_reached";

/** Operations of the store on invitations. No read sees one that has expired. */
export const invitationOperations = {
	/** Keeps an invitation in place of its maker's earlier one for the address. The event is also added to each of its realms. */
	make: write<(invitation: InvitationWithRoles, event: AuditEvent) => Invited>({ forgets: [] }),
	byDigest: read<(digest: Buffer, now: string) => InvitationWithRoles | undefined>(),
	/**
	 * The invitations of an address, at most MAX_INVITATIONS_USED: those of enabled instance admins, then others, each the oldest first. Strangers, who may
	 * invite anybody where everybody registers, displace no admin's.
	 */
	forEmail: read<(email: string, now: string) => InvitationWithRoles[]>(),
	/** Lists the invitations of one maker, or of all when it is empty, in the order of their ids. */
	list: read<(created_by: string, now: string, after: string, limit: number) => InvitationWithRoles[]>(),
	count: read<(created_by: string, now: string) => number>(),
	/** Removes an invitation of the maker, or of anybody when it is empty; false when there is none. The event is also added to each of its realms. */
	remove: write<(input: { id: string; created_by: string }, event: AuditEvent) => boolean>({ forgets: [] }),
	/** Forgets invitations that expired before the instant. */
	drop: write<(expired_before: string) => number>({ forgets: [], inBatches: true }),
};

/** The store's part for invitations. */
export type InvitationStore = Port<typeof invitationOperations>;
