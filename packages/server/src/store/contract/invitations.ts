import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Account, UsedInvitation } from "../../accounts/model.ts";
import {
	type InvitationWithRoles,
	MAX_INVITATIONS,
	MAX_INVITATIONS_OF_REALM,
	MAX_INVITATIONS_USED,
} from "../../invitations/model.ts";
import type { Filled } from "../../limits.ts";
import type { Realm } from "../../realms/model.ts";
import { MAX_ROWS } from "../../realms/row-limits.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { anAccount, anEvent, anInvitation, MADE_AT, newId } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

const SOON = "2030-01-01T00:00:01.000Z";

/** A role of an invitation in a realm. */
const invited = ({ id: realm_id, slug: realm }: Realm, role: "admin" | "member" | "viewer" = "member") => ({
	realm_id,
	realm,
	role,
});

/** Tests the port's promises about invitations that nobody has used yet. */
export async function invitationContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { invitations } = store;
	const ada = await addAccount(store);
	const [bob, carl] = [await addAccount(store), await addAccount(store)];
	const make = (invitation: InvitationWithRoles) =>
		invitations.make(invitation, anEvent({ type: "invitation.created", actor: invitation.created_by }));
	const idsOf = async (whose: string, now = MADE_AT) =>
		(await invitations.list(whose, now, "", 500)).map(({ id }) => id);

	test("open invitations count toward the limits of their maker and of each realm, expired ones do not", async () => {
		const maker = await addAccount(store);
		const realm = await addRealm(store, maker);
		const [open, expiring] = [anInvitation(maker.id), anInvitation(maker.id, { expires_at: SOON })];
		for (const invitation of [open, expiring]) await make({ ...invitation, bindings: [invited(realm)] });
		const max = { ...MAX_ROWS, realm_bytes: 1, realms_per_account: 1 };
		const usedAt = async (now: string) => {
			const found = await store.realms.fullest({ max, now });
			const used = (of: Filled[], whose: string) => of.find(({ name }) => name === whose)?.used;
			return [used(found.invitations_per_account, maker.email), used(found.invitations_per_realm, realm.slug)];
		};
		assert.deepEqual(
			[await usedAt(MADE_AT), await usedAt(SOON)],
			[
				[2, 2],
				[1, 1],
			],
		);
	});

	test("an invitation is found by its code's digest, with its roles, until it expires", async () => {
		const realm = await addRealm(store, ada);
		const invitation = anInvitation(ada.id, { bindings: [invited(realm)] });
		const start = await countEvents(store);
		assert.equal(await make(invitation), "done");
		assert.deepEqual(await invitations.byDigest(invitation.digest, MADE_AT), invitation);
		assert.equal(await invitations.byDigest(invitation.digest, invitation.expires_at), undefined);
		assert.equal(await invitations.byDigest(Buffer.alloc(32, 9), MADE_AT), undefined);
		assert.deepEqual(await eventsAfter(store, start, [realm.id]), [
			["invitation.created", {}],
			["invitation.created", { role: "member" }],
		]);
		assert.deepEqual(await invitations.forEmail(invitation.email, MADE_AT), [invitation]);
		assert.deepEqual(await invitations.forEmail(invitation.email, invitation.expires_at), []);
	});

	test("an inviter has one invitation per address; an address's invitations are listed in the order of their ids, up to a limit", async () => {
		const email = "many@example.com";
		const first = anInvitation(bob.id, { email });
		const older = anInvitation(ada.id, { email, created_at: "2030-01-01T00:00:02.000Z" });
		const second = anInvitation(bob.id, { email, created_at: "2030-01-01T00:00:01.000Z" });
		for (const one of [first, second, older]) assert.equal(await make(one), "done");
		const found = await invitations.forEmail(email, MADE_AT);
		assert.deepEqual(
			found.map(({ id }) => id),
			[older.id, second.id],
		);
		assert.equal(await invitations.byDigest(first.digest, MADE_AT), undefined);
		for (let count = 0; count < MAX_INVITATIONS_USED; count++)
			await make(anInvitation((await addAccount(store)).id, { email }));
		assert.equal((await invitations.forEmail(email, MADE_AT)).length, MAX_INVITATIONS_USED);
	});

	test("invitations by instance admins come first, and no others displace them", async () => {
		const email = "wanted@example.com";
		for (let count = 0; count < MAX_INVITATIONS_USED; count++)
			await make(anInvitation((await addAccount(store)).id, { email }));
		const admins = [await addAccount(store), await addAccount(store)];
		for (const { id } of admins) await store.accounts.setAdmin({ user_id: id, instance_admin: true }, anEvent());
		const [earlier, later] = admins.map(({ id }, at) =>
			anInvitation(id, { email, created_at: `2030-01-01T00:00:0${5 - at}.000Z` }),
		);
		for (const one of [later, earlier]) if (one !== undefined) await make(one);
		const found = (await invitations.forEmail(email, MADE_AT)).map(({ id }) => id);
		assert.deepEqual(found.slice(0, 2), [earlier?.id, later?.id]);
		assert.equal(new Set(found).size, MAX_INVITATIONS_USED);
	});

	test("an invitation is listed and ended by its inviter or by the instance admin", async () => {
		const [mine, other] = [anInvitation(carl.id), anInvitation(bob.id)];
		const realm = await addRealm(store, bob);
		other.bindings.push(invited(realm));
		for (const one of [mine, other]) await make(one);
		assert.deepEqual(await idsOf(carl.id), [mine.id]);
		assert.equal(await invitations.count(carl.id, MADE_AT), 1);
		assert.deepEqual(await idsOf(carl.id, mine.expires_at), []);
		const all = await idsOf("");
		assert.equal(await invitations.count("", MADE_AT), all.length);
		assert.ok([mine.id, other.id].every((id) => all.includes(id)));
		const event = anEvent({ type: "invitation.deleted" });
		assert.equal(await invitations.remove({ id: other.id, created_by: carl.id }, event), false);
		const start = await countEvents(store);
		assert.equal(await invitations.remove({ id: other.id, created_by: "" }, event), true);
		assert.deepEqual(
			(await eventsAfter(store, start, [realm.id])).map(([type, { email }]) => [type, email]),
			[
				["invitation.deleted", other.email],
				["invitation.deleted", other.email],
			],
		);
		assert.equal(await invitations.remove({ id: mine.id, created_by: carl.id }, event), true);
		assert.deepEqual(await idsOf(carl.id), []);
	});

	test("an address that has an account is not invited, nor anybody into a deleted realm", async () => {
		const realm = await addRealm(store, ada);
		const waiting = anInvitation(ada.id, { bindings: [invited(realm)] });
		assert.equal(await make(waiting), "done");
		await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent());
		const start = await countEvents(store);
		assert.equal(await make(anInvitation(ada.id, { email: bob.email })), "has_account");
		assert.equal(await make(anInvitation(ada.id, { bindings: [invited(realm)] })), "realm_gone");
		assert.equal(await countEvents(store), start);
		const back = { id: realm.id, slug: realm.slug, user_id: ada.id, since: "" };
		assert.equal(await store.realms.restore(back, anEvent()), "done");
		assert.deepEqual(
			(await invitations.byDigest(waiting.digest, MADE_AT))?.bindings,
			[],
			"its role ended with the realm",
		);
	});

	test("open invitations are limited per account and per realm", async () => {
		const [dora, realm] = [await addAccount(store), await addRealm(store, ada)];
		const late = "2030-01-09T00:00:00.000Z";
		for (let count = 0; count < MAX_INVITATIONS_OF_REALM; count++)
			assert.equal(await make(anInvitation(dora.id, { bindings: [invited(realm)] })), "done");
		assert.equal(await make(anInvitation(dora.id, { bindings: [invited(realm)] })), "realm_limit_reached");
		for (let count = MAX_INVITATIONS_OF_REALM; count < MAX_INVITATIONS; count++) await make(anInvitation(dora.id));
		assert.equal(await make(anInvitation(dora.id)), "limit_reached");
		const after = anInvitation(dora.id, { created_at: late, expires_at: "2030-01-16T00:00:00.000Z" });
		assert.equal(await make({ ...after, bindings: [invited(realm)] }), "done", "expired ones count no more");
		assert.deepEqual(await idsOf(dora.id), [after.id], "and are gone");
	});

	test("others' open invitations into a realm do not count toward its owner", async () => {
		const [owner, former, other] = [await addAccount(store), await addAccount(store), await addAccount(store)];
		const realm = await addRealm(store, owner);
		const invite = (maker: Account) => make(anInvitation(maker.id, { bindings: [invited(realm)] }));
		for (let count = 0; count < MAX_INVITATIONS_OF_REALM; count++) assert.equal(await invite(former), "done");
		assert.equal(await invite(other), "realm_limit_reached");
		for (let count = 0; count < MAX_INVITATIONS_OF_REALM; count++) assert.equal(await invite(owner), "done");
		assert.equal(await invite(owner), "realm_limit_reached");
	});

	test("expired ones are forgotten, and no others; all end when their maker is disabled", async () => {
		const eve = await addAccount(store);
		const [late, open] = [anInvitation(eve.id, { expires_at: MADE_AT }), anInvitation(eve.id)];
		for (const one of [open, late]) await make(one);
		await invitations.drop(open.expires_at);
		assert.deepEqual(await idsOf(eve.id, "2029"), [open.id]);
		await store.accounts.setDisabled({ user_id: eve.id, disabled_at: MADE_AT }, anEvent());
		assert.deepEqual(await idsOf(eve.id), []);
	});
}

/** Tests the port's promises about accounts that are made with an invitation. */
export async function invitationUseContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { invitations } = store;
	const root = await addAccount(store);
	const [ada, eve] = [await addAccount(store), await addAccount(store)];

	async function invite(by: Account, ...bindings: InvitationWithRoles["bindings"]): Promise<InvitationWithRoles> {
		const invitation = anInvitation(by.id, { bindings });
		assert.equal(await invitations.make(invitation, anEvent({ type: "invitation.created", actor: by.id })), "done");
		return invitation;
	}
	const usedOf = ({ id, bindings }: InvitationWithRoles, admin_only = false): UsedInvitation => ({
		id,
		admin_only,
		bindings: bindings.map(({ realm_id }) => ({ realm_id, id: newId() })),
	});
	async function use(invitation: InvitationWithRoles, { admin_only = false, ...given }: Given = {}) {
		const account = anAccount({ email: invitation.email, ...given });
		const event = anEvent({ type: "auth.register", actor: account.id });
		const outcome = await store.accounts.register({ ...account, invitation: usedOf(invitation, admin_only) }, event);
		return { ...account, left_out: [], ...outcome };
	}
	type Given = Partial<Account> & { admin_only?: boolean };
	const roleIn = async ({ slug }: Realm, user_id: string) => (await store.realms.access(slug, user_id))?.role;

	test("an invitation creates one account with its roles, with an event in each realm", async () => {
		const [realm, other] = [await addRealm(store, ada), await addRealm(store, ada)];
		const invitation = await invite(ada, invited(realm), invited(other, "viewer"));
		const start = await countEvents(store);
		assert.equal((await use(invitation, { email: "other@example.com" })).outcome, "not_invited");
		const { outcome, id } = await use(invitation);
		assert.equal(outcome, "done");
		assert.deepEqual([await roleIn(realm, id), await roleIn(other, id)], ["member", "viewer"]);
		const facts = { user_id: id, granted_by: ada.id, invitation_id: invitation.id };
		assert.deepEqual(await eventsAfter(store, start, [realm.id]), [
			["auth.register", { instance_admin: false, invitation_id: invitation.id, invited_by: ada.id }],
			["policy.binding.created", { ...facts, role: "member" }],
		]);
		assert.equal((await use(invitation)).outcome, "not_invited", "it is used up");
	});

	test("one of two simultaneous uses succeeds", async () => {
		const invitation = await invite(ada);
		const outcomes = (await Promise.all([use(invitation), use(invitation)])).map(({ outcome }) => outcome);
		assert.deepEqual(outcomes, ["done", "not_invited"]);
	});

	test("an invitation creates no account when it has expired or ended, or when its inviter is disabled or must be an instance admin", async () => {
		const late = await invite(ada);
		assert.equal((await use(late, { created_at: late.expires_at })).outcome, "not_invited");
		const ended = await invite(ada);
		await invitations.remove({ id: ended.id, created_by: ada.id }, anEvent());
		assert.equal((await use(ended)).outcome, "not_invited");
		const ordinary = await invite(ada);
		assert.equal((await use(ordinary, { admin_only: true })).outcome, "not_invited");
		assert.equal((await use(ordinary)).outcome, "done");
		assert.equal((await use(await invite(root), { admin_only: true })).outcome, "done");
		const out = await invite(eve);
		await store.accounts.setDisabled({ user_id: eve.id, disabled_at: MADE_AT }, anEvent());
		assert.equal((await use(out)).outcome, "not_invited");
	});

	test("roles that the inviter may no longer give are left out, with an event in the realm", async () => {
		const frank = await addAccount(store);
		const [kept, lowered, gone] = [
			await addRealm(store, frank),
			await addRealm(store, root),
			await addRealm(store, frank),
		];
		await addBinding(store, lowered, frank, "admin");
		const invitation = await invite(frank, invited(kept), invited(lowered), invited(gone));
		const change = { realm_id: lowered.id, user_id: frank.id, role: "member" as const, granted_by: root.id };
		await store.policy.rebind(change, anEvent());
		await store.realms.remove({ id: gone.id, deleted_at: MADE_AT }, anEvent());
		const start = await countEvents(store);
		const { outcome, id, left_out } = await use(invitation);
		assert.equal(outcome, "done");
		assert.deepEqual(left_out, [{ realm: lowered.slug, role: "member" }]);
		assert.deepEqual([await roleIn(kept, id), await roleIn(lowered, id)], ["member", null]);
		const [denied] = (await eventsAfter(store, start, [lowered.id])).slice(1);
		assert.equal(denied?.[0], "access.denied");
		assert.deepEqual([denied?.[1].wanted, denied?.[1].reason, denied?.[1].user_id], ["policy:manage", "forbidden", id]);
	});
}
