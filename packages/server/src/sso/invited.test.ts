import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createKnownSources } from "../accounts/known-sources.ts";
import { newCode } from "../crypto/codes.ts";
import { createSessionTokens } from "../crypto/session.ts";
import { INVITATION_MS } from "../invitations/model.ts";
import { createLimits } from "../limits.ts";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { anEvent, anInvitation } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { signIn } from "./identity.ts";
import { type Asserted, type RefusalReason, SsoRefusal } from "./model.ts";
import type { Provider } from "./providers.ts";
import type { CommonSettings } from "./settings.ts";

const { store, system, keyring } = await openTestRules({ after });
const known_sources = createKnownSources({ store, keyring, system });
const sessions = createSessionTokens(() => keyring.session(), system);
const base = { store, system, keyring, known_sources, limits: createLimits(), sessions };
const CLOSED = { ...base, registration: { mode: "closed" as const, allowed_domains: [] } };
const OPEN = { ...base, registration: { mode: "open" as const, allowed_domains: [] } };
const VISITOR = { request_id: "request-1", ip: "127.0.0.1" };

/** The first account is the instance admin. */
const root = await addAccount(store, { email: "root@example.com" });
const ada = await addAccount(store, { email: "ada@example.com" });

/** A provider that makes no accounts by itself and is trusted for example.com. */
function aProvider(settings: Partial<CommonSettings> = {}): Provider<"oidc"> {
	const common = {
		auto_provision: false,
		allowed_domains: [],
		trusted_email_domains: ["example.com"],
		role_mappings: [],
	};
	const own = { issuer: "https://id.example.com", client_id: "svc", client_secret: "secret", scopes: "openid" };
	return {
		...{ id: "settings-1", name: "corp", display_name: "Corp", created_by: root.id, created_at: root.created_at },
		is: { type: "oidc", settings: { ...own, ...common, ...settings } },
	};
}

let people = 0;

function aPerson(given: Partial<Asserted> = {}): Asserted & { email: string } {
	const subject = `subject-${++people}`;
	const email = `${subject}@example.com`;
	return { issuer: "https://id.example.com", subject, email_verified: true, name: "A", groups: [], ...given, email };
}

interface Terms {
	by?: { id: string };
	realm?: { id: string; slug: string };
}

async function invite(email: string, { by = root, realm }: Terms = {}): Promise<string> {
	const { code, digest } = newCode({ keyring, system }, "invitation");
	const [created_at, expires_at] = [0, INVITATION_MS].map((ms) => new Date(system.now().getTime() + ms).toISOString());
	const bindings = realm === undefined ? [] : [{ realm_id: realm.id, realm: realm.slug, role: "member" as const }];
	const given = { email, digest, bindings, created_at, expires_at } as const;
	assert.equal(await store.invitations.make(anInvitation(by.id, given as object), anEvent()), "done");
	return code;
}

const arrive = (
	who: Asserted,
	provider = aProvider(),
	invitation?: string,
	needs: typeof OPEN | typeof CLOSED = CLOSED,
) => signIn(needs, VISITOR, provider, who, [], { invitation });

async function refused(arrival: Promise<unknown>, reason: RefusalReason): Promise<void> {
	await assert.rejects(arrival, (error) => {
		assert.ok(error instanceof SsoRefusal, String(error));
		assert.equal(error.reason, reason);
		return true;
	});
}

test("an address that a trusted provider verified uses all its invitations by itself, with their roles", async () => {
	const [shop, other] = [await addRealm(store, root), await addRealm(store, ada)];
	const person = aPerson();
	await refused(arrive(person), "not_provisioned");
	await invite(person.email, { realm: shop });
	await invite(person.email, { by: ada, realm: other });
	const start = await countEvents(store);
	const { user } = await arrive(person, aProvider(), undefined, OPEN);
	for (const { slug } of [shop, other]) assert.equal((await store.realms.access(slug, user.id))?.role, "member");
	const recorded = await eventsAfter(store, start, [shop.id, other.id]);
	assert.deepEqual(
		recorded.map(([type]) => type),
		["auth.login", "policy.binding.created", "policy.binding.created"],
	);
	assert.equal(recorded[0]?.[1].invited_by, `${root.id},${ada.id}`);
	assert.deepEqual(await store.invitations.forEmail(person.email, system.now().toISOString()), []);
	assert.equal((await arrive(person)).user.id, user.id);
});

test("an address that no trusted provider verified needs the code", async () => {
	const cases: [Partial<Asserted>, Partial<CommonSettings>][] = [
		[{ email_verified: false }, {}],
		[{}, { trusted_email_domains: [] }],
	];
	for (const [given, settings] of cases) {
		const person = aPerson(given);
		const code = await invite(person.email);
		await refused(arrive(person, aProvider(settings)), "not_provisioned");
		await refused(arrive(aPerson(given), aProvider(settings), code), "invitation");
		await refused(arrive(person, aProvider(settings), "wrong"), "invitation");
		await arrive(person, aProvider(settings), code);
		await refused(arrive(aPerson(given), aProvider(settings), code), "invitation");
	}
});

test("a wrong code creates no account, even with auto_provision", async () => {
	const person = aPerson();
	const provider = aProvider({ auto_provision: true });
	await refused(arrive(person, provider, "wrong"), "invitation");
	await arrive(person, provider);
});

test("an invitation never overrides the domains of a provider", async () => {
	const person = aPerson();
	const code = await invite(person.email);
	const elsewhere = aProvider({ allowed_domains: ["example.org"] });
	await refused(arrive(person, elsewhere), "not_provisioned");
	await refused(arrive(person, elsewhere, code), "not_provisioned");
});

test("where only the instance admin makes accounts, nobody else's invitation does, nor a disabled inviter's", async () => {
	const person = aPerson();
	const code = await invite(person.email, { by: ada });
	await refused(arrive(person), "not_provisioned");
	await refused(arrive(person, aProvider(), code), "invitation");
	await store.accounts.setDisabled({ user_id: ada.id, disabled_at: system.now().toISOString() }, anEvent());
	await refused(arrive(person, aProvider(), code, OPEN), "invitation");
});
