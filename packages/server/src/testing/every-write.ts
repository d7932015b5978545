import type { Writes } from "../store/sqlite/writes/all.ts";
import { runEveryCodeWrite } from "./code-writes.ts";
import { runEveryLeaseWrite } from "./lease-writes.ts";
import {
	aBinding,
	aDeletion,
	aKey,
	aLink,
	aMachine,
	aMachineToken,
	aNewRealm,
	anAccount,
	anEvent,
	aRealm,
	aSession,
	aToken,
	aTrust,
	aVersion,
	MADE_AT,
	purgeable,
} from "./rows.ts";

const KNOWN = { pair: Buffer.alloc(32), seen_at: MADE_AT, renew_before: MADE_AT };

/** Runs every operation, so that each of its statements has run. */
export function runEveryWrite(writes: Writes): void {
	const [event, owner, other] = [anEvent(), anAccount(), anAccount()];
	const realm = aRealm(owner.id);
	const token = aToken(owner.id, { realm_id: realm.id });
	const version = aVersion(realm.id, "k");
	const removal = { ...aDeletion(), realm_id: realm.id, environment: "dev" as const, key: "k" };
	for (const account of [owner, other]) writes.accounts.register(account, event);
	writes.accounts.openSession({ session: aSession(owner.id), password: owner.password, known: KNOWN }, event);
	const change = { user_id: owner.id, from: owner.password ?? "", password: "new", keep: "none", known: KNOWN };
	writes.accounts.setPassword(change, event);
	writes.accounts.closeSession("none", event);
	for (const verb of ["dropSessions", "dropKnownSources"] as const) writes.accounts[verb](MADE_AT);
	writes.accounts.setDisabled({ user_id: other.id, disabled_at: MADE_AT }, event);
	writes.accounts.setLimits({ user_id: owner.id, realm_bytes: 20_000, realms: null }, event);
	writes.realms.create(aNewRealm(realm), event);
	runEveryCodeWrite(writes, realm, owner.id);
	writes.policy.bind(aBinding(realm.id, other.id), event);
	writes.policy.rebind({ realm_id: realm.id, user_id: other.id, role: "admin", granted_by: "g" }, event);
	writes.policy.unbind({ realm_id: realm.id, user_id: other.id }, event);
	writes.tokens.create(token, event);
	writes.tokens.used({ id: token.id, at: MADE_AT });
	for (let count = 0; count < 21; count++) writes.secrets.set(version, event);
	writes.secrets.remove(removal, event);
	for (const since of ["", "9"]) writes.secrets.restore({ ...removal, since }, event);
	writes.secrets.purge({ ...removal, by: MADE_AT, only_deleted: false }, event);
	writes.secrets.purgeDeleted(MADE_AT, event);
	writes.secrets.set(version, event);
	writes.tokens.revoke({ id: token.id, user_id: owner.id, within: token.id }, event);
	runEveryMachineWrite(writes, realm.id);
	writes.keys.rotate({ key: aKey(realm.id) }, event);
	for (const verb of ["link", "unlink"] as const) writes.sso[verb](aLink({ ...owner, password: "new" }), event);
	runEveryLeaseWrite(writes, realm.id);
	writes.realms.remove({ id: realm.id, deleted_at: MADE_AT }, event);
	writes.realms.endRestricted(realm.id);
	writes.realms.restore({ ...realm, since: "" }, event);
	writes.realms.remove({ id: realm.id, deleted_at: MADE_AT }, event);
	writes.realms.empty(purgeable(realm.id));
	writes.realms.purge(purgeable(realm.id), event);
}

/** Runs every operation on machines and trusts. */
function runEveryMachineWrite(writes: Writes, realm_id: string): void {
	const event = anEvent();
	const machine = aMachine(realm_id);
	const trust = aTrust(machine.id);
	const token = aMachineToken(machine.id, { trust_id: trust.id });
	for (let count = 0; count < 2; count++) writes.machines.set(machine, event);
	for (let count = 0; count < 2; count++) writes.trusts.set(trust, event);
	writes.trusts.exchange({ token, used: { digest: token.digest, realm_id, until: MADE_AT } }, event);
	writes.trusts.forgetUsed(MADE_AT);
	writes.machines.revokeToken(token, event);
	writes.trusts.remove(trust, event);
	writes.machines.remove(machine, event);
}
