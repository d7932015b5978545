/* A program receives the session that its browser signed in for: `cli_port`, `cli_challenge`, and their worth to others. */
import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { ask } from "../harness/console.ts";
import { ok, refused } from "../harness/expect.ts";
import { person } from "../harness/fixtures.ts";
import type { Login } from "../harness/resources.ts";
import { type FakeProvider, startFakeProvider } from "../peers/oidc-fake.ts";
import { type OidcWorld, startOidcWorld } from "./oidc-world.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: OidcWorld;
let provider: FakeProvider;

before(async () => {
	const started = await startOidcWorld();
	ends.defer(started.close);
	world = started;
	provider = await startFakeProvider();
	ends.defer(provider.stop);
	await world.set("corp", provider);
});

interface Proof {
	readonly code: string;
	readonly verifier: string;
}

/** Signs in with a browser that a program sent. @returns the program's proof */
async function signInForProgram(name = "corp", more = ""): Promise<Proof> {
	const verifier = randomBytes(32).toString("base64url");
	const query = `cli_port=40001&cli_challenge=${hash("sha256", verifier, "base64url")}${more}`;
	const begun = await world.begin(name, query);
	const answer = await world.finish(name, await world.visit(name, begun), begun.cookie);
	assert.equal(answer.status, 302, answer.text);
	const back = new URL(String(answer.headers.location));
	assert.equal(back.origin + back.pathname, "http://127.0.0.1:40001/");
	assert.deepEqual([...back.searchParams.keys()], ["code"]);
	return { code: back.searchParams.get("code") ?? "", verifier };
}

const redeem = (proof: Proof) => world.client.post<Login>("/auth/sso/token", proof);

async function refusedOnce(answer: Awaited<ReturnType<typeof redeem>>): Promise<void> {
	refused(answer, 401, "unauthorized");
	const refusals = await world.refusals();
	assert.deepEqual(
		refusals.map(({ data }) => data.reason),
		["code"],
	);
}

test("a program gets the session once", async () => {
	const proof = await signInForProgram();
	const { token } = ok(await redeem(proof));
	ok(await world.client.get("/realms", { token }));
	await refusedOnce(await redeem(proof));
});

test("somebody who has the code and not the verifier gets nothing, and nobody does afterwards", async () => {
	const proof = await signInForProgram();
	await refusedOnce(await redeem({ ...proof, verifier: "v".repeat(43) }));
	await refusedOnce(await redeem(proof));
});

test("ten redemptions at once are one session", async () => {
	const proof = await signInForProgram();
	const answers = await Promise.all(Array.from({ length: 10 }, () => redeem(proof)));
	assert.equal(answers.filter(({ status }) => status === 200).length, 1);
	assert.equal((await world.refusals()).length, 9);
});

test("a code of settings that are gone is void", async () => {
	await world.set("leaving", provider);
	const set = await signInForProgram("leaving");
	await world.set("leaving", provider);
	await refusedOnce(await redeem(set));
	const removed = await signInForProgram("leaving");
	ok(await world.client.delete("/auth/providers/leaving", { token: world.root.token }));
	await refusedOnce(await redeem(removed));
});

test("a code links an identity when its owner has looked at it, and is used up then", async () => {
	const ada = await person(world.client, "ada");
	provider.lie = { claims: (truth) => ({ ...truth, sub: "linked", email: "linked@example.com", name: "Linked" }) };
	const proof = await signInForProgram();
	provider.lie = {};
	const link = (confirm?: boolean) =>
		world.client.post(
			"/auth/sso/link",
			{ ...proof, ...(confirm && { confirm, current_password: ada.password }) },
			{ token: ada.token },
		);
	const identity = { provider: "corp", email: "linked@example.com", name: "Linked" };
	for (let looks = 0; looks < 2; looks++)
		assert.deepEqual((ok(await link()) as { identity: object }).identity, identity);
	assert.deepEqual((ok(await link(true)) as { identity: object }).identity, identity);
	refused(await link(true), 401, "unauthorized");
	refused(await redeem(proof), 401, "unauthorized");
	await world.refusals();
});

/** Makes the session of a person without a password, with the time of the sign-in at the provider. @param auth_time in Unix seconds */
function lieAs(sub: string, auth_time?: number): void {
	const email = `${sub}@example.com`;
	provider.lie = { claims: (truth) => ({ ...truth, sub, email, ...(auth_time !== undefined && { auth_time }) }) };
}

test("somebody without a password links and unlinks only when the provider has just asked who they are", async () => {
	const now_s = Math.floor(Date.now() / 1000);
	await world.set("second", provider, { auto_provision: false });
	const token = async (more?: string) => ok(await redeem(await signInForProgram("corp", more))).token;
	const tryLink = async (own: string) => {
		lieAs("second");
		const proof = await signInForProgram("second");
		return world.client.post("/auth/sso/link", { ...proof, confirm: true }, { token: own });
	};
	lieAs("passwordless");
	const unasked = await token();
	refused(await tryLink(unasked), 403, "forbidden");
	lieAs("passwordless", now_s - 310);
	const early = await token();
	refused(await tryLink(early), 403, "forbidden");
	lieAs("passwordless", now_s);
	const fresh = await token("&again=true");
	ok(await tryLink(fresh));
	const { identities } = ok(
		await world.client.get<{ identities: { id: string; provider: string }[] }>("/auth/identities", { token: fresh }),
	);
	const { id = "" } = identities.find((one) => one.provider === "second") ?? {};
	const unlink = (own: string) =>
		world.client.send("DELETE", `/api/v1/auth/identities/${id}`, { token: own, raw: "{}" });
	for (const own of [unasked, early]) refused(await unlink(own), 403, "forbidden");
	ok(await unlink(fresh));
	provider.lie = {};
	await world.refusals();
});

test("a program that has the person asked again gets no session of one who was not", async () => {
	const begun = await world.begin("corp", `${WAITING}&again=true`);
	const { searchParams } = new URL(begun.location);
	assert.deepEqual([searchParams.get("max_age"), searchParams.get("prompt")], ["0", "login"]);
	lieAs("unasked", Math.floor(Date.now() / 1000) - 60);
	const early = await world.finish("corp", await world.visit("corp", begun), begun.cookie);
	provider.lie = {};
	assert.deepEqual(sentBack(early), [302, "http://127.0.0.1:40001/?error=forbidden"]);
	assert.deepEqual(
		(await world.refusals()).map(({ data }) => data.reason),
		["auth_time"],
	);
	const { searchParams: usual } = new URL((await world.begin("corp", WAITING)).location);
	assert.deepEqual([usual.get("max_age"), usual.get("prompt")], [null, null]);
});

test("somebody who has neither a name nor an address is shown by what names them at the provider", async () => {
	const eva = await person(world.client, "eva");
	provider.lie = {
		claims: (truth) => ({ ...truth, sub: "nameless-17", email: undefined, name: undefined }),
		userinfo: () => ({ sub: "nameless-17" }),
	};
	const proof = await signInForProgram();
	provider.lie = {};
	const { identity } = ok(await world.client.post<{ identity: object }>("/auth/sso/link", proof, { token: eva.token }));
	assert.deepEqual(identity, { provider: "corp", email: "", name: "nameless-17" });
});

/** The query that sends a program's browser back; the program's port is 40001. */
const WAITING = `cli_port=40001&cli_challenge=${"c".repeat(43)}`;
const sentBack = (answer: { readonly status: number; readonly headers: object }) => [
	answer.status,
	"location" in answer.headers && answer.headers.location,
];

test("a program is informed that the provider cannot be asked, a browser without one gets the error", async () => {
	await world.set("gone", { ...provider, issuer: "https://127.0.0.1:1" });
	const begin = (query: string) => world.client.get(`/auth/oidc/gone/login?${query}`);
	assert.deepEqual(sentBack(await begin(WAITING)), [302, "http://127.0.0.1:40001/?error=provider_unavailable"]);
	refused(await begin(""), 503, "provider_unavailable");
	refused(await world.client.get(`/auth/oidc/none/login?${WAITING}`), 404, "not_found");
	assert.equal((await world.refusals()).length, 2, "both are written down");
});

test("a login that begins at another loopback name of the server goes on at its own, where the cookie belongs", async () => {
	const { server } = world;
	const { host, port } = new URL(server.url);
	const path = `/api/v1/auth/oidc/corp/login?${WAITING}`;
	for (const alias of [`127.0.0.1:${port}`, `[::1]:${port}`]) {
		const { status, headers } = await ask(server, "GET", path, { host: alias });
		const where = [status, headers.location, headers["set-cookie"]];
		assert.deepEqual(where, [302, `${server.url}${path}`, undefined], alias);
	}
	for (const other of [host, "127.0.0.1:1", `svc.example.com:${port}`]) {
		const { headers } = await ask(server, "GET", path, { host: other });
		assert.ok(headers.location?.startsWith(provider.issuer), other);
		assert.notEqual(headers["set-cookie"], undefined, other);
	}
});

test("a program is informed that its login was refused, and only the browser that began it can say so", async () => {
	const end = async (query: string, withCookie = true) => {
		const { location, cookie } = await world.begin("corp", query);
		const state = new URL(location).searchParams.get("state") ?? "";
		const finish = () => world.finish("corp", { error: "access_denied", state }, withCookie ? cookie : undefined);
		return [await finish(), await finish()] as const;
	};
	const [rejected, again] = await end(WAITING);
	assert.deepEqual(sentBack(rejected), [302, "http://127.0.0.1:40001/?error=unauthorized"]);
	refused(again, 401, "unauthorized");
	for (const answer of [...(await end("")), ...(await end(WAITING, false))]) refused(answer, 401, "unauthorized");
	assert.equal((await world.refusals()).length, 6);
});

// Comes last: nobody can sign in from here for a minute afterwards.
test("after a limited number of recorded refusals, a source gets 429, whatever it tries", async () => {
	const nobody = { code: "no such code", verifier: "v".repeat(43) };
	await world.refusals();
	let refusals = 0;
	for (let status = 401; status === 401; refusals++) {
		const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(nobody)));
		status = Math.max(...answers.map((answer) => answer.status));
		assert.ok(refusals < 40);
	}
	const paths = ["/auth/oidc/corp/callback?code=a&state=b", "/auth/oidc/corp/login"];
	for (const path of paths) refused(await world.client.get(path), 429, "rate_limited");
	refused(await redeem(nobody), 429, "rate_limited");
	const written = (await world.refusals()).length;
	assert.ok(written >= 570 && written <= 640, `${written} events`);
});
