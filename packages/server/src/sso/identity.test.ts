import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createKnownSources } from "../accounts/known-sources.ts";
import { createSessionTokens } from "../crypto/session.ts";
import { createLimits } from "../limits.ts";
import { MAX_BINDINGS } from "../policy/model.ts";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { aBinding, aLink, anEvent, anIdentity, MADE_AT, newId } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { signIn } from "./identity.ts";
import { type Asserted, type RefusalReason, SsoRefusal } from "./model.ts";
import type { Provider } from "./providers.ts";
import type { CommonSettings } from "./settings.ts";

const { store, system, keyring } = await openTestRules({ after });
const known_sources = createKnownSources({ store, keyring, system });
const limits = createLimits();
const sessions = createSessionTokens(() => keyring.session(), system);
const registration = { mode: "closed" as const, allowed_domains: [] };
const needs = { store, system, keyring, registration, known_sources, limits, sessions };
const VISITOR = { request_id: "request-1", ip: "127.0.0.1" };

/** The first account is the instance admin. */
const root = await addAccount(store, { email: "root@example.com", password: null });

function aProvider(settings: Partial<CommonSettings> = {}, name = "corp"): Provider<"oidc"> {
	const common = { auto_provision: true, allowed_domains: [], trusted_email_domains: [], role_mappings: [] };
	const own = { issuer: "https://id.example.com", client_id: "svc", client_secret: "secret", scopes: "openid" };
	return {
		...{ id: "settings-1", name, display_name: "Corp", created_by: root.id, created_at: MADE_AT },
		is: { type: "oidc", settings: { ...own, ...common, ...settings } },
	};
}

let people = 0;

function aPerson(given: Partial<Asserted> = {}): Asserted {
	const subject = `subject-${++people}`;
	const said = { email: `${subject}@example.com`, email_verified: true, name: "Ada", groups: [] };
	return { issuer: "https://id.example.com", subject, ...said, ...given };
}

const arrive = (asserted: Asserted, provider: Provider = aProvider()) => signIn(needs, VISITOR, provider, asserted, []);

async function refused(arrival: Promise<unknown>, reason: RefusalReason): Promise<void> {
	await assert.rejects(arrival, (error) => {
		assert.ok(error instanceof SsoRefusal, String(error));
		assert.equal(error.reason, reason);
		return true;
	});
}

test("a new person gets an account and a session, and is the same account the next time, whatever the provider says then", async () => {
	const person = aPerson({ email: "Ada.New@Example.COM", name: "  Ada  " });
	const first = await arrive(person);
	assert.deepEqual(first.user, { id: first.user.id, email: "ada.new@example.com", name: "Ada" });
	assert.equal(first.expires_at, Math.floor(system.now().getTime() / 1000) + 86_400);
	const claims = await needs.sessions.verify(first.token);
	const owner = await store.accounts.sessionOwner(claims?.jti ?? "", first.user.id, system.now().toISOString());
	assert.deepEqual(owner, {
		...{ user_id: first.user.id, email: "ada.new@example.com", name: "Ada" },
		instance_admin: false,
	});
	const again = await arrive({ ...person, email: "moved@example.org", name: "Eva", email_verified: false });
	assert.deepEqual(again.user, first.user);
	assert.notEqual(again.token, first.token);
});

test("without a name the address is the name, and a long one is cut between characters", async () => {
	for (const name of [undefined, "", " \t"]) {
		const { user } = await arrive(aPerson({ name }));
		assert.equal(user.name, user.email);
	}
	const { user } = await arrive(aPerson({ name: `${"é".repeat(127)}😀 and more` }));
	assert.equal(user.name, "é".repeat(127));
});

test("somebody who says no address that an account can have is not let in", async () => {
	for (const email of [undefined, "", " ", "no address", "two@at@signs", `${"a".repeat(250)}@example.com`]) {
		await refused(arrive(aPerson({ email })), "email_missing");
	}
});

test("new people come in where the provider's settings let them, people who are known always", async () => {
	const known = aPerson();
	await arrive(known);
	const closed = aProvider({ auto_provision: false });
	await refused(arrive(aPerson(), closed), "not_provisioned");
	await arrive(known, closed);
	const domain = aProvider({ allowed_domains: ["example.org"] });
	for (const email of ["a@example.com", "a@sub.example.org", "a@example.org.evil.com", "a@notexample.org"])
		await refused(arrive(aPerson({ email }), domain), "not_provisioned");
	await arrive(aPerson({ email: "in@EXAMPLE.org" }), domain);
});

test("a disabled account is not let in", async () => {
	const person = aPerson();
	const { user } = await arrive(person);
	await store.accounts.setDisabled({ user_id: user.id, disabled_at: MADE_AT }, anEvent({ type: "user.disabled" }));
	await refused(arrive(person), "disabled");
});

test("an address opens nobody's account: with a password, unverified, of another domain, of another spelling, or recycled", async () => {
	const trusting = aProvider({ trusted_email_domains: ["example.com"] });
	await addAccount(store, { email: "pre-registered@example.com" });
	const holder = aPerson({ email: "held@example.com" });
	await arrive(holder);
	const noPassword = await addAccount(store, { email: "open@example.org", password: null });
	const table: [why: string, asserted: Partial<Asserted>, provider: Provider][] = [
		["registered before with a password", { email: "pre-registered@example.com" }, trusting],
		["in another spelling", { email: " PRE-registered@EXAMPLE.com " }, trusting],
		["in compatibility characters", { email: "ｐre-registered@example.com" }, trusting],
		["recycled", { email: "held@example.com" }, trusting],
		["the same subject of another issuer", { ...holder, issuer: "https://evil.example" }, trusting],
		["a domain that is not trusted", { email: noPassword.email }, trusting],
		["no domain is trusted", { email: noPassword.email }, aProvider({}, "other")],
		["the instance admin's", { email: "root@example.com" }, aProvider(trusting.is.settings, "other")],
	];
	for (const [why, asserted, provider] of table) {
		const before = await store.accounts.count();
		await assert.rejects(arrive(aPerson(asserted), provider), (error) => {
			assert.ok(error instanceof SsoRefusal && error.reason === "email_taken", `${why}: ${String(error)}`);
			return true;
		});
		assert.equal(await store.accounts.count(), before, why);
	}
	const other = aProvider(trusting.is.settings, "other");
	for (const email_verified of [false, "true", 1, undefined, null] as never[]) {
		await refused(arrive(aPerson({ email: "held@example.com", email_verified }), other), "email_taken");
	}
});

test("an account without a password is linked where the provider is trusted for its domain and says that the address is verified", async () => {
	const trusting = aProvider({ trusted_email_domains: ["example.com"] });
	const first = await arrive(aPerson({ email: "linked@example.com" }), trusting);
	const second = aProvider({ trusted_email_domains: ["example.com"] }, "second");
	const person = aPerson({ email: "Linked@example.com" });
	const start = await countEvents(store);
	assert.deepEqual((await arrive(person, second)).user, first.user);
	assert.deepEqual((await arrive({ ...person, email: undefined }, second)).user, first.user);
	const kinds = (await eventsAfter(store, start)).map(([type, { provider, arrival }]) => [type, provider, arrival]);
	assert.deepEqual(kinds, [
		["auth.login", "second", "linked"],
		["auth.login", "second", "known"],
	]);
});

test("somebody who came first with an address that nobody vouched for is not joined by its owner", async () => {
	const trusted = { trusted_email_domains: ["example.com"] };
	const table: [why: string, first: Provider, verified: boolean][] = [
		["the first provider is not trusted", aProvider(), true],
		["the first provider does not say that it is verified", aProvider(trusted), false],
		["neither", aProvider(), false],
	];
	for (const [why, first, email_verified] of table) {
		const thief = aPerson({ email_verified });
		await arrive(thief, first);
		const owner = aPerson({ email: thief.email });
		await assert.rejects(arrive(owner, aProvider(trusted, "second")), { reason: "email_taken" }, why);
	}
});

test("the owner of an unverified address does not join the account that claims it, even under another identity", async () => {
	const corp = { id: newId(), name: "corp", type: "oidc", display_name: "", sealed: Buffer.from("s") } as const;
	await store.sso.setProvider({ ...corp, created_by: root.id, created_at: MADE_AT }, anEvent());
	const thief = aPerson();
	const { token, user } = await arrive(thief);
	const [claimed] = await store.sso.identitiesOf(user.id);
	const jti = (await needs.sessions.verify(token))?.jti ?? "";
	for (let round = 0, id = claimed?.id ?? ""; round < 2; round++) {
		const other = aLink({ id: user.id, password: null }, { ...anIdentity(), provider: "corp" }, jti);
		assert.equal(await store.sso.link(other, anEvent()), "done");
		const proof = { password: null, jti };
		assert.equal(await store.sso.unlink({ id, user_id: user.id, proof }, anEvent()), "done");
		const trusting = aProvider({ trusted_email_domains: ["example.com"] }, "second");
		await refused(arrive(aPerson({ email: thief.email }), trusting), "email_taken");
		id = other.id;
	}
});

test("ten logins of one new person at once are one account", async () => {
	const person = aPerson();
	const before = await store.accounts.count();
	const arrivals = await Promise.all(Array.from({ length: 10 }, () => arrive(person)));
	assert.equal(new Set(arrivals.map(({ user }) => user.id)).size, 1);
	assert.equal(await store.accounts.count(), before + 1);
});

test("the best role of all groups is given, in each realm, and no group means no role", async () => {
	const realm = await addRealm(store, root);
	const mapping = (group: string, role: "viewer" | "member" | "admin") => ({ group, realm_id: realm.id, role });
	const role_mappings = [mapping("staff", "viewer"), mapping("dev", "member"), mapping("ops", "admin")];
	const provider = aProvider({ role_mappings });
	const person = aPerson();
	const table: [groups: string[], role: string | null][] = [
		[[], null],
		[["staff"], "viewer"],
		[["dev", "staff", "other"], "member"],
		[["staff", "ops", "dev"], "admin"],
		[["Staff", "staff "], null],
	];
	const roleAt = async (groups: string[], from: Provider) => {
		const { user } = await arrive({ ...person, groups }, from);
		return (await store.realms.access(realm.slug, user.id))?.role;
	};
	for (const [groups, role] of table) assert.equal(await roleAt(groups, provider), role, groups.join());
	const former = aProvider({ role_mappings: [{ group: "ops", realm: realm.slug, role: "admin" }] });
	assert.equal(await roleAt(["ops"], former), null, "a slug alone gives nothing");
});

test("a sign-in that leaves out a role because of a limit counts as a refusal by that limit", async () => {
	const realm = await addRealm(store, root);
	const members = await Promise.all(Array.from({ length: MAX_BINDINGS }, () => addAccount(store, { password: null })));
	await Promise.all(members.map(({ id }) => store.policy.bind(aBinding(realm.id, id), anEvent())));
	const role_mappings = [{ group: "staff", realm_id: realm.id, realm: realm.slug, role: "viewer" as const }];
	const person = aPerson({ groups: ["staff"] });
	const { user } = await arrive(person, aProvider({ role_mappings }));
	assert.equal((await store.realms.access(realm.slug, user.id))?.role, null);
	assert.equal(limits.refusals("bindings_per_realm"), 1);
	await store.policy.unbind({ realm_id: realm.id, user_id: members[0]?.id ?? "" }, anEvent());
	await arrive(person, aProvider({ role_mappings }));
	assert.equal((await store.realms.access(realm.slug, user.id))?.role, "viewer");
	assert.equal(limits.refusals("bindings_per_realm"), 1);
});
