import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import { makeToken } from "../crypto/api-token.ts";
import { createSessionTokens, SESSION_SECONDS } from "../crypto/session.ts";
import { AppError } from "../errors.ts";
import { anEvent, aSession, aToken } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { emptyTables } from "../testing/store.ts";
import { createIdentify } from "./authenticate.ts";
import { SCOPES } from "./model.ts";

const rules = await openTestRules({ after });
const { store, system, keyring } = rules;
const sessions = createSessionTokens(() => keyring.session(), system);
const needs = { store, system, sessions, noted: new Map<string, number>() };
const ada = await addAccount(store, { email: "ada@example.com" });
const bob = await addAccount(store, { email: "bob@example.com" });
const realm = await addRealm(store, bob);

const call = (authorization: string | undefined) => createIdentify(needs)(authorization, "request", "192.0.2.1");
const seconds = () => Math.floor(system.now().getTime() / 1000);

/** Opens a session and returns its token. */
async function signIn(user: { id: string; password: string | null } = ada, auth_time?: number) {
	const session = aSession(user.id, { expires_at: new Date((seconds() + SESSION_SECONDS) * 1000).toISOString() });
	assert.ok(await store.accounts.openSession({ session, password: user.password }, anEvent()));
	const iat = seconds();
	const token = await sessions.sign({ sub: user.id, jti: session.jti, iat, exp: iat + SESSION_SECONDS, auth_time });
	return { token, jti: session.jti };
}

/** Makes an API token. */
async function mint(user_id: string, given: Parameters<typeof aToken>[1] = {}) {
	const made = makeToken(system.randomBytes);
	const row = aToken(user_id, { digest: made.digest, ...given });
	await store.tokens.create(row, anEvent());
	return { ...made, id: row.id };
}

test("a session token says when its owner signed in at a provider, and an impossible time says nothing", async () => {
	for (const [auth_time, confirmed_at] of [
		[seconds() - 60, (seconds() - 60) * 1000],
		[undefined, undefined],
		[0.5, undefined],
	] as const) {
		const { token } = await signIn(ada, auth_time);
		assert.equal((await call(`Bearer ${token}`)).confirmed_at, confirmed_at, String(auth_time));
	}
});

test("a session token is its user with every scope and no restriction", async () => {
	const { token, jti } = await signIn();
	assert.deepEqual(await call(`Bearer ${token}`), {
		user_id: ada.id,
		email: ada.email,
		name: ada.name,
		instance_admin: true,
		machine: undefined,
		payer: ada.id,
		scopes: SCOPES,
		purpose: undefined,
		token_id: undefined,
		jti,
		realm_id: null,
		environment: null,
		engines: null,
		expires_at: null,
		grants: [],
		request_id: "request",
		ip: "192.0.2.1",
	});
});

test("an API token is its user with the token's scopes and restrictions", async () => {
	const expires_at = "2030-06-01T00:00:00.000Z";
	const { token, id } = await mint(bob.id, {
		scopes: "read,delete",
		realm_id: realm.id,
		environment: "prod",
		engines: '["totp"]',
		expires_at,
	});
	assert.deepEqual(await call(`Bearer ${token}`), {
		user_id: bob.id,
		email: bob.email,
		name: bob.name,
		instance_admin: false,
		machine: undefined,
		payer: bob.id,
		scopes: ["read", "delete"],
		purpose: undefined,
		token_id: id,
		jti: undefined,
		realm_id: realm.id,
		environment: "prod",
		engines: ["totp"],
		expires_at,
		grants: [],
		request_id: "request",
		ip: "192.0.2.1",
	});
});

test("the scheme is read in any case, with blanks around the token", async () => {
	const { token } = await mint(bob.id);
	for (const header of [`bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`, `Bearer ${token} `]) {
		assert.equal((await call(header)).user_id, bob.id, header);
	}
});

/** Headers that authenticate nobody, by their cause. */
async function refusedHeaders(): Promise<Record<string, string | undefined>> {
	const { token } = await mint(bob.id);
	const { token: revoked, id } = await mint(bob.id);
	await store.tokens.revoke({ id, user_id: bob.id }, anEvent());
	const { token: expired } = await mint(bob.id, { expires_at: system.now().toISOString() });
	const { token: stranger } = makeToken(system.randomBytes);
	const { token: session, jti } = await signIn();
	const { token: left } = await signIn();
	const claims = { sub: ada.id, jti, iat: seconds(), exp: seconds() + SESSION_SECONDS };
	const of = (given: Partial<typeof claims>) => sessions.sign({ ...claims, ...given });
	const [header, payload, signature] = session.split(".");
	const unsigned = Buffer.from('{"alg":"none","typ":"svc-session+jwt"}').toString("base64url");
	await store.accounts.closeSession((await call(`Bearer ${left}`)).jti ?? "", anEvent());
	return {
		"no header": undefined,
		"an empty header": "",
		"no scheme": token,
		"no token": "Bearer",
		"a blank token": "Bearer ",
		"another scheme": `Basic ${Buffer.from(`a:${token}`).toString("base64")}`,
		"a scheme that begins alike": `Bearers ${token}`,
		"two tokens": `Bearer ${token} ${token}`,
		"two headers in one": `Bearer ${token}, Bearer ${token}`,
		"a token cut short": `Bearer ${token.slice(0, -1)}`,
		"a token with more behind it": `Bearer ${token}a`,
		"a token in capitals": `Bearer ${token.toUpperCase()}`,
		"a token with another last character": `Bearer ${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`,
		"a well-formed token of nobody": `Bearer ${stranger}`,
		"the hash of a token": `Bearer svc_${hash("sha256", token)}`,
		"a revoked token": `Bearer ${revoked}`,
		"a token that has just expired": `Bearer ${expired}`,
		"a session that was left": `Bearer ${left}`,
		"a session that never was": `Bearer ${await of({ jti: "none" })}`,
		"a session of another user": `Bearer ${await of({ sub: bob.id })}`,
		"a session without a signature": `Bearer ${header}.${payload}.`,
		"a session signed by nobody": `Bearer ${unsigned}.${payload}.`,
		"a session with another payload": `Bearer ${header}.${payload}A.${signature}`,
		"an expired session": `Bearer ${await of({ iat: claims.iat - 100, exp: claims.iat })}`,
		"a session that is too long": `Bearer ${session}${"A".repeat(5000)}`,
		"letters of other scripts": `Bearer ${token.replace("a", "а")}é`,
		"a token over two lines": `Bearer ${token.slice(0, 20)}\n${token.slice(20)}`,
	};
}

test("whatever is wrong with a token is answered alike: 401, the same words, the same header", async () => {
	const answers = new Set<string>();
	for (const [what, header] of Object.entries(await refusedHeaders())) {
		await assert.rejects(
			call(header),
			(error) => {
				assert.ok(error instanceof AppError, what);
				answers.add(JSON.stringify([error, error.headers, error.cause]));
				return error.code === "unauthorized";
			},
			what,
		);
	}
	assert.equal(answers.size, 1);
	assert.match([...answers].join(), /"www-authenticate":"Bearer"/);
});

test("a disabled account's sessions end permanently, and its API tokens sleep until it is enabled", async () => {
	const carol = await addAccount(store);
	const { token } = await mint(carol.id);
	const { token: session } = await signIn(carol);
	const set = (disabled_at: string | null) => store.accounts.setDisabled({ user_id: carol.id, disabled_at }, anEvent());
	assert.equal((await call(`Bearer ${token}`)).user_id, carol.id);
	assert.equal((await call(`Bearer ${session}`)).user_id, carol.id);
	await set("2030-01-01T00:00:00.000Z");
	for (const header of [`Bearer ${token}`, `Bearer ${session}`]) await assert.rejects(call(header), AppError);
	await set(null);
	assert.equal((await call(`Bearer ${token}`)).user_id, carol.id);
	await assert.rejects(call(`Bearer ${session}`), AppError);
});

test("a token works until the millisecond in which it expires", async () => {
	const end = new Date(system.now().getTime() + 1000).toISOString();
	const { token } = await mint(bob.id, { expires_at: end });
	system.advance(999);
	assert.equal((await call(`Bearer ${token}`)).user_id, bob.id);
	system.advance(1);
	await assert.rejects(call(`Bearer ${token}`), AppError);
});

test("a session works for a day, whatever was remembered of it", async () => {
	const { token } = await signIn();
	system.advance(SESSION_SECONDS * 1000 - 1000);
	assert.equal((await call(`Bearer ${token}`)).user_id, ada.id);
	system.advance(1000);
	await assert.rejects(call(`Bearer ${token}`), AppError);
});

test("a cached session or token lets nobody in from the moment at which it ends", async () => {
	const end = new Date(system.now().getTime() + SESSION_SECONDS * 1000).toISOString();
	const { token: session } = await signIn();
	const { token } = await mint(bob.id, { expires_at: end });
	const headers = [`Bearer ${session}`, `Bearer ${token}`];
	for (const header of headers) await call(header);
	emptyTables(rules, ["session", "api_token"]);
	system.advance(SESSION_SECONDS * 1000 - 1);
	for (const header of headers) await call(header);
	system.advance(1);
	for (const header of headers) await assert.rejects(call(header), AppError);
});

test("a token's last use is kept, at most once a minute, and never holds up or fails a request", async () => {
	const used: string[] = [];
	const watching = (answer: Promise<void>) => ({
		...needs,
		store: {
			...store,
			tokens: {
				...store.tokens,
				used: ({ at }: { at: string }) => {
					used.push(at);
					return answer;
				},
			},
		},
	});
	const never = watching(new Promise(() => undefined));
	const { token } = await mint(bob.id);
	const use = (of: typeof never) => createIdentify(of)(`Bearer ${token}`, "", "");
	const start = system.now().toISOString();
	await use(never);
	await use(never);
	system.advance(59_999);
	await use(never);
	assert.deepEqual(used, [start]);
	system.advance(2);
	await use(watching(Promise.reject(new Error("the disk is full"))));
	assert.deepEqual(used, [start, system.now().toISOString()]);
});

test("the last use of a token can be read in the list of tokens", async () => {
	const { token, id } = await mint(ada.id);
	await call(`Bearer ${token}`);
	// The use is written after the answer, and before any later write.
	await store.audit.append(anEvent());
	assert.equal((await store.tokens.byId(id))?.last_used_at, system.now().toISOString());
});
