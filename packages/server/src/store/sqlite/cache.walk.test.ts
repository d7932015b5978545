import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Environment } from "../../messages.ts";
import type { Role } from "../../policy/model.ts";
import {
	aBinding,
	aConfig,
	aDeletion,
	aKey,
	aLease,
	aNewRealm,
	anAccount,
	anEvent,
	aRealm,
	aSession,
	aToken,
	aVersion,
	MADE_AT,
	purgeable,
} from "../../testing/rows.ts";
import { seeded } from "../../testing/seeded.ts";
import { openTestStore, trustAllRows } from "../../testing/store.ts";
import { drizzle } from "./drizzle.ts";
import { openReader } from "./open.ts";
import { accountReads } from "./reads/accounts.ts";
import { realmReads } from "./reads/realms.ts";
import { secretReads } from "./reads/secrets.ts";
import { tokenReads } from "./reads/tokens.ts";

const STEPS = 600;
const SEED = 20_300_101;

const { store, file } = await openTestStore({ after });
const connection = openReader(file);
after(() => void connection.close());
trustAllRows(connection);
const client = drizzle({ client: connection });
/** The same questions, asked directly of the database. */
const plain = {
	accounts: accountReads(client, connection),
	realms: realmReads(client),
	secrets: secretReads(client, connection),
	tokens: tokenReads(client),
};

const next = seeded(SEED);
const pick = <T>(list: readonly T[]): T => list[next(list.length)] ?? assert.fail("an empty list");
const users = Array.from({ length: 4 }, () => anAccount());
const slugs = ["one", "two", "three"];
const sessions: { jti: string; user_id: string }[] = [];
const tokens: { id: string; user_id: string; digest: Buffer }[] = [];
const realmIds: string[] = [];

const liveRealm = async () => (await plain.realms.access(pick(slugs), ""))?.id ?? "nowhere";

/** Changes that can happen to a store. */
const CHANGES: (() => Promise<unknown>)[] = [
	async () => {
		const user = pick(users);
		const session = aSession(user.id);
		const password = (await plain.accounts.byId(user.id))?.password ?? null;
		if (await store.accounts.openSession({ session, password }, anEvent())) sessions.push(session);
	},
	() => store.accounts.closeSession(pick(sessions).jti, anEvent()),
	() =>
		store.accounts.setPassword(
			{ user_id: pick(users).id, from: `p${next(9)}`, password: `p${next(9)}`, keep: pick(sessions).jti },
			anEvent(),
		),
	() => store.accounts.setDisabled({ user_id: pick(users).id, disabled_at: next(3) === 0 ? MADE_AT : null }, anEvent()),
	async () => {
		const token = aToken(pick(users).id);
		await store.tokens.create(token, anEvent());
		tokens.push(token);
	},
	() => store.tokens.used({ id: pick(tokens).id, at: MADE_AT }),
	() => {
		const { id, user_id } = pick(tokens);
		return store.tokens.revoke({ id, user_id }, anEvent());
	},
	async () => {
		const realm = aRealm(pick(users).id, { slug: pick(slugs) });
		if ((await store.realms.create(aNewRealm(realm), anEvent())) === "done") realmIds.push(realm.id);
	},
	async () =>
		next(3) === 0 ? store.realms.remove({ id: await liveRealm(), deleted_at: MADE_AT }, anEvent()) : undefined,
	() => store.realms.purge(purgeable(pick(realmIds)), anEvent()),
	async () => {
		const role = pick<Role>(["admin", "member", "viewer"]);
		return store.policy.bind(aBinding(await liveRealm(), pick(users).id, { role }), anEvent());
	},
	async () =>
		store.policy.rebind(
			{ realm_id: await liveRealm(), user_id: pick(users).id, role: pick(["admin", "viewer"]), granted_by: "g" },
			anEvent(),
		),
	async () => store.policy.unbind({ realm_id: await liveRealm(), user_id: pick(users).id }, anEvent()),
	async () =>
		store.secrets.set(aVersion(await liveRealm(), "k", { environment: pick<Environment>(["dev", "prod"]) }), anEvent()),
	async () =>
		store.secrets.remove({ ...aDeletion(), realm_id: await liveRealm(), environment: "dev", key: "k" }, anEvent()),
	async () => store.keys.rotate({ key: aKey(await liveRealm()) }, anEvent()),
	async () => store.engines.setConfig(aConfig({ realm_id: await liveRealm() }), anEvent()),
	async () => store.leases.begin(aLease(await liveRealm()), null, anEvent()),
	async () =>
		store.leases.revokeMany(
			{ realm_id: await liveRealm(), user_id: undefined, engine: undefined, now_ms: 0 },
			anEvent(),
		),
];

/** Asks the store and the database every question that may be remembered. */
async function compare(step: number): Promise<void> {
	for (const { jti, user_id } of sessions.slice(-8)) {
		const args = [jti, user_id, MADE_AT] as const;
		assert.deepEqual(
			await store.accounts.sessionOwner(...args),
			await plain.accounts.sessionOwner(...args),
			`step ${step}`,
		);
	}
	for (const { digest } of tokens.slice(-8)) {
		const found = await plain.tokens.owner(digest);
		// A remembered `last_used_at` may be out of date; nobody reads it from the owner.
		const undated = (owner: typeof found) => owner && { ...owner, last_used_at: null };
		assert.deepEqual(undated(await store.tokens.owner(digest)), undated(found), `step ${step}`);
	}
	for (const slug of slugs) {
		for (const { id } of users) {
			assert.deepEqual(await store.realms.access(slug, id), await plain.realms.access(slug, id), `step ${step}`);
		}
	}
	for (const realm_id of realmIds.slice(-3)) {
		for (const environment of ["dev", "prod"] as const) {
			const args = [realm_id, environment, "k"] as const;
			assert.deepEqual(await store.secrets.get(...args), await plain.secrets.get(...args), `step ${step}`);
		}
	}
}

test("whatever happens to a store, what it remembers is what the database says once the change is answered", async () => {
	for (const user of users) await store.accounts.register(user, anEvent());
	for (const index of [0, 4, 7]) await CHANGES[index]?.();
	for (let step = 0; step < STEPS; step++) {
		await pick(CHANGES)();
		await compare(step);
	}
	assert.ok(sessions.length > 10 && tokens.length > 10 && realmIds.length > 5);
});
