import type { Realm } from "../realms/model.ts";
import type { Implementations } from "../store/store.ts";
import { anAccount, anEvent, anInvitation, aResetCode, MADE_AT } from "./rows.ts";

/** Runs every operation on reset codes and on invitations, and uses one of these with a role in the realm. */
export function runEveryCodeWrite(writes: Implementations<"write">, realm: Realm, maker: string): void {
	const event = anEvent();
	const roles = [{ realm_id: realm.id, realm: realm.slug, role: "viewer" as const }];
	const invitation = anInvitation(maker, { bindings: roles });
	writes.invitations.make(invitation, event);
	const used = { id: invitation.id, admin_only: false, bindings: [{ realm_id: realm.id, id: "b" }] };
	writes.accounts.register({ ...anAccount({ email: invitation.email }), invitation: used }, event);
	const other = anInvitation(maker, { bindings: roles });
	writes.invitations.make(other, event);
	writes.invitations.remove({ id: other.id, created_by: "" }, event);
	writes.invitations.drop(MADE_AT);
	const code = aResetCode(maker);
	writes.resets.make(code, event);
	writes.resets.use({ ...code, password: "new", at: MADE_AT }, event);
	writes.resets.recover(code, event);
	writes.resets.drop(MADE_AT);
}
