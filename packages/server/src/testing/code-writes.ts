import type { FactorProof } from "../accounts/model.ts";
import type { AuditEvent } from "../audit/model.ts";
import type { Realm } from "../realms/model.ts";
import type { Implementations } from "../store/store.ts";
import { aFactor, anAccount, anEvent, anInvitation, aResetCode, aSession, MADE_AT, recoveryCodes } from "./rows.ts";

/** Runs every operation on second factors, reset codes and invitations, and uses one of these with a role in the realm. */
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
	runEveryFactorWrite(writes, event);
	const code = aResetCode(maker);
	writes.resets.make(code, event);
	writes.resets.use({ ...code, password: "new", at: MADE_AT }, event);
	for (const drop_factors of [false, true]) writes.resets.recover({ ...code, drop_factors }, event);
	writes.resets.dropFactors(maker, event);
	writes.resets.drop(MADE_AT);
}

function runEveryFactorWrite(writes: Implementations<"write">, event: AuditEvent): void {
	const account = anAccount();
	writes.accounts.register(account, event);
	const { id: user_id } = account;
	const password = account.password ?? "";
	const factor = aFactor(user_id);
	const codes = recoveryCodes(user_id);
	const owner = (proof: FactorProof | undefined) => ({ user_id, password, proof });
	writes.factors.add({ factor, owner: owner(undefined) }, event);
	writes.factors.confirm({ id: factor.id, user_id, step: 1, since: "", keep: "", codes }, event);
	writes.factors.signIn({ session: aSession(user_id), password, proof: { factor_id: factor.id, step: 2 } }, event);
	writes.factors.signIn({ session: aSession(user_id), password, proof: { digest: Buffer.alloc(32, 1) } }, event);
	writes.factors.renewCodes({ owner: owner({ factor_id: factor.id, step: 3 }), codes }, event);
	writes.factors.remove({ id: factor.id, owner: owner({ factor_id: factor.id, step: 4 }) }, event);
	writes.factors.dropPending(MADE_AT);
}
