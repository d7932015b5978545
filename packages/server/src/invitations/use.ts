import type { UsedInvitation } from "../accounts/model.ts";
import type { Config } from "../config.ts";
import { type CodeNeeds, digestsOf } from "../crypto/codes.ts";
import { AppError } from "../errors.ts";
import type { System } from "../system.ts";
import { needsAdmin } from "./decide.ts";
import type { InvitationStore, InvitationWithRoles } from "./model.ts";

/** Dependencies of using an invitation. */
export interface InvitationUseNeeds extends Pick<CodeNeeds, "keyring"> {
	store: { invitations: Pick<InvitationStore, "byDigest" | "forEmail"> };
	system: Pick<System, "now" | "uuid">;
	registration: Config["registration"];
}

/** Finds the invitation with which somebody makes an account, by its code; undefined when it is for nobody with this address. Design: §15 */
export async function findInvitation(
	needs: InvitationUseNeeds,
	email: string,
	code: string,
): Promise<UsedInvitation | undefined> {
	const now = needs.system.now().toISOString();
	let found: InvitationWithRoles | undefined;
	for (const digest of digestsOf(needs, "invitation", code)) {
		found = (await needs.store.invitations.byDigest(digest, now)) ?? found;
	}
	return found?.email === email ? asUsed(needs, found) : undefined;
}

/** Finds the invitations of an address whose owner is proven: no code is needed. Design: §15 */
export async function invitationsFor(needs: InvitationUseNeeds, email: string): Promise<UsedInvitation[]> {
	const found = await needs.store.invitations.forEmail(email, needs.system.now().toISOString());
	return found.map((invitation) => asUsed(needs, invitation));
}

function asUsed({ registration, system }: InvitationUseNeeds, { id, email, bindings }: InvitationWithRoles) {
	const ids = bindings.map(({ realm_id }) => ({ realm_id, id: system.uuid() }));
	return { id, admin_only: needsAdmin(registration, email), bindings: ids };
}

/** The one answer to a code that is wrong, used, expired, deleted, for another address, or of somebody who may invite no more. */
export function notInvited(): AppError {
	return new AppError(
		"invalid_credentials",
		"invalid email or invitation: a code is for one address, once, for 7 days; ask for a new one",
	);
}
