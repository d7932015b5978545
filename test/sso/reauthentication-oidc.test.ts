/* Asking again for people without a password, at an OpenID Connect provider: it must sign in the same person again, for this session. Design: §16 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser as Chromium } from "playwright-core";
import { heading, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { ask, COOKIE, enter, ours, tokenOf } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { realm, secret } from "../harness/fixtures.ts";
import { type OidcProvider, startOidcProvider } from "../peers/oidc.ts";
import { type Browser, createBrowser } from "../peers/oidc-browser.ts";
import { type FakeProvider, startFakeProvider } from "../peers/oidc-fake.ts";
import type { OidcPeer } from "../peers/oidc-server.ts";
import type { Begun } from "./oidc-world.ts";
import { type Desk, deskOf, LATE, type Seat, TARGET } from "./reauthentication-world.ts";
import { type SsoWorld, startSsoWorld } from "./world.ts";

const VALUE = "a value of prod";
const FORBIDDEN = `/console/confirm/provider?error=forbidden&target=${encodeURIComponent(TARGET)}`;

/** A session, and the browser whose person the provider knows. */
interface KnownSeat extends Seat {
	readonly browser: Browser;
}

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: SsoWorld;
let desk: Desk;
let corp: OidcProvider;
let liar: FakeProvider;
/** Sessions of Alice at corp, which does not say when she signed in, one a test; and one of Mallory at the liar. */
let alices: KnownSeat[];
let mallory: KnownSeat;
/** An old session by password. */
let rootSeat: Seat;
let chromium: Chromium;
let opened: Awaited<ReturnType<typeof takeSeat>>;
let prod: string;

before(async () => {
	world = await startSsoWorld(LATE);
	ends.defer(world.close);
	const { server, client, root } = world;
	desk = deskOf(server);
	const people = {
		alice: { email: "alice@corp.test", email_verified: true, name: "Alice" },
		bob: { email: "bob@corp.test", email_verified: true, name: "Bob" },
	};
	corp = await startOidcProvider({ redirect_uris: [callbackOf("corp")], people });
	ends.defer(corp.stop);
	liar = await startFakeProvider();
	ends.defer(liar.stop);
	for (const [name, { issuer, client_id, client_secret, ca_cert }] of Object.entries({ corp, liar }))
		await world.set(name, "oidc", { issuer, client_id, client_secret, ca_cert });
	mallory = await signIn("liar", liar);
	corp.person = "bob";
	await signIn("corp", corp);
	corp.person = "alice";
	alices = [];
	while (alices.length < 8) alices.push(await signIn("corp", corp));
	const { slug } = await realm(client, root, "shop");
	await secret(client, root, slug, "DB_URL", VALUE, { environment: "prod" });
	prod = `/console/realms/${slug}/secrets/DB_URL?env=prod`;
	if (skipWithoutChromium === false) await signInWithChromium(slug);
	rootSeat = await takeRoot();
	await desk.passTime(rootSeat);
});

async function signInWithChromium(slug: string): Promise<void> {
	chromium = await startBrowser();
	ends.defer(() => chromium.close());
	opened = await takeSeat(chromium);
	const { page } = opened;
	await page.goto(`${world.server.url}/console`);
	await page.getByRole("link", { name: "Sign in with corp" }).click();
	await heading(page, "Realms");
	const member = { email: "alice@corp.test", role: "member" };
	ok(await world.client.post(`/realms/${slug}/policy/bindings`, member, { token: world.root.token }), 201);
}

async function takeRoot(): Promise<Seat> {
	const { cookie } = await enter(world.server, world.root);
	return { cookie, form_token: await tokenOf(world.server, { cookie }) };
}

const callbackOf = (name: string) => `${world.server.url}/api/v1/auth/oidc/${name}/callback`;

/** Comes back from the provider. */
async function comeBack(name: string, { location, cookie }: Begun, browser: Browser) {
	const { pathname, search } = await browser.follow(location, callbackOf(name));
	const path = pathname + search;
	const answer = await ask(world.server, "GET", path, { cookie });
	return { path, answer, way: String(answer.headers.location) };
}

async function signIn(name: string, { ca_cert }: OidcPeer): Promise<KnownSeat> {
	const browser = createBrowser(ca_cert);
	const begun = await desk.beginSignIn("oidc", name);
	const { way } = await comeBack(name, begun, browser);
	return { ...(await desk.endSignIn(way, begun)), browser };
}

function takeAlice(): KnownSeat {
	const seat = alices.pop();
	assert.ok(seat, "too few sessions were prepared");
	return seat;
}

test("Alice signs in at the provider again, comes back to her page, and is not asked for 5 minutes", async () => {
	const seat = takeAlice();
	const begun = await desk.begin(seat, "corp");
	const { searchParams } = new URL(begun.location);
	assert.deepEqual([searchParams.get("max_age"), searchParams.get("prompt")], ["0", "login"]);
	const { way } = await comeBack("corp", begun, seat.browser);
	assert.match(way, /^\/console\/confirm\/provider\?code=[\w-]{43}$/);
	const bounced = await ask(world.server, "GET", way, { "sec-fetch-site": "cross-site" });
	assert.deepEqual([bounced.status, bounced.headers.refresh], [200, "0"], "the cookies come with the second request");
	const arrived = await desk.arrive(seat, way);
	assert.deepEqual([arrived.status, arrived.headers.location], [303, TARGET]);
	assert.equal(arrived.headers["set-cookie"], undefined, "no session begins");
	assert.equal(await desk.isAsked(seat), false);
});

test("Alice reveals a value of prod in a browser after signing in again", { skip: skipWithoutChromium }, async () => {
	const { page, complaints, close } = opened;
	await page.goto(`${world.server.url}${prod}`);
	await page.getByRole("button", { name: "Reveal" }).click();
	await heading(page, "Is it you?");
	await page.getByRole("button", { name: "Confirm with corp" }).click();
	await heading(page, "DB_URL in prod");
	assert.equal(page.url(), `${world.server.url}${prod}`);
	await page.getByRole("status").getByText("Confirmed for 5 minutes").waitFor();
	await page.getByRole("button", { name: "Reveal" }).click();
	await page.getByText(VALUE).waitFor();
	assert.deepEqual(complaints, []);
	await close();
});

test("somebody else's sign-in confirms nothing", async () => {
	const seat = takeAlice();
	corp.person = "bob";
	const { way } = await comeBack("corp", await desk.begin(seat, "corp"), createBrowser(corp.ca_cert));
	corp.person = "alice";
	await world.refusals();
	await desk.isRefused("Bob", seat, await desk.arrive(seat, way), 403);
	const refusals = (await world.refusals()).map(({ data }) => [data.provider, data.reason]);
	assert.deepEqual(refusals, [["corp", "another_person"]]);
});

test("a provider that lets Alice through without asking confirms nothing", async () => {
	const seat = takeAlice();
	const begun = await desk.begin(seat, "corp");
	const location = new URL(begun.location);
	for (const name of ["max_age", "prompt"]) location.searchParams.delete(name);
	const { way } = await comeBack("corp", { ...begun, location: location.href }, seat.browser);
	assert.equal(way, FORBIDDEN);
	await desk.isRefused("no auth_time", seat, await desk.arrive(seat, way), 403);
});

test("only a provider that says that the person has just signed in confirms something", async () => {
	const now_s = Math.floor(Date.now() / 1000);
	const wrong: [what: string, auth_time: unknown, status: number, reason: string][] = [
		["none", undefined, 403, "auth_time"],
		["before", now_s - 60, 403, "auth_time"],
		["to come", now_s + 3600, 403, "auth_time"],
		["a text", String(now_s), 401, "malformed"],
	];
	const tell = async (auth_time: unknown) => {
		liar.lie = { claims: (truth) => ({ ...truth, ...(auth_time !== undefined && { auth_time }) }) };
		return (await comeBack("liar", await desk.begin(mallory, "liar"), mallory.browser)).way;
	};
	await world.refusals();
	for (const [what, auth_time, status] of wrong) {
		const way = await tell(auth_time);
		await desk.isRefused(what, mallory, await desk.arrive(mallory, way), status);
	}
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(
		reasons,
		wrong.map(([, , , reason]) => reason),
	);
	assert.equal((await desk.arrive(mallory, await tell(now_s))).status, 303, "just now");
	assert.equal(await desk.isAsked(mallory), false);
});

test("a new session counts as a confirmation only from the sign-in that the provider names", async () => {
	const seat = await signIn("corp", corp);
	assert.ok(await desk.isAsked(seat), "corp does not say when Alice signed in");
	const empty = await desk.confirm(seat, { target: TARGET });
	await desk.isRefused("a form without a provider", seat, empty, 400);
	const now_s = Math.floor(Date.now() / 1000);
	for (const [auth_time, isAsked] of [
		[undefined, true],
		[now_s - 310, true],
		[now_s - 240, false],
		[now_s, false],
		[now_s + 3600, true],
	] as const) {
		liar.lie = { claims: (truth) => ({ ...truth, ...(auth_time !== undefined && { auth_time }) }) };
		assert.equal(await desk.isAsked(await signIn("liar", liar)), isAsked, String(auth_time));
	}
});

test("somebody without a password unlinks an identity only once the provider has asked who they are", async () => {
	const page = "/console/account/identities";
	const unlink = async (auth_time?: number) => {
		liar.lie = { claims: (truth) => ({ ...truth, ...(auth_time !== undefined && { auth_time }) }) };
		const { cookie, form_token } = await signIn("liar", liar);
		const [, id = ""] =
			/name="id" value="([\w-]+)"/.exec((await ask(world.server, "GET", page, { cookie })).text) ?? [];
		return ask(world.server, "POST", page, { cookie, ...ours(world.server) }, { form_token, id });
	};
	const asked = await unlink();
	const where = `/console/confirm?target=${encodeURIComponent(page)}`;
	assert.deepEqual([asked.status, asked.headers.location], [303, where]);
	const last = await unlink(Math.floor(Date.now() / 1000));
	liar.lie = {};
	assert.equal(last.status, 409);
	assert.match(last.text, /only way left to sign in/);
});

test("what one session asked for confirms no other, and is used up by the attempt", async () => {
	const [seat, other] = [takeAlice(), takeAlice()];
	const { way } = await comeBack("corp", await desk.begin(seat, "corp"), seat.browser);
	await desk.isRefused("another session", other, await desk.arrive(other, way), 401);
	await desk.isRefused("afterwards", seat, await desk.arrive(seat, way), 401);
	await desk.isRefused("no code", seat, await desk.arrive(seat, "/console/confirm/provider?code=guessed"), 401);
});

test("each return from the provider is good once, in the browser that began", async () => {
	const seat = takeAlice();
	const begun = await desk.begin(seat, "corp");
	const { path, way } = await comeBack("corp", begun, seat.browser);
	assert.equal((await ask(world.server, "GET", path, { cookie: begun.cookie })).status, 401, "replayed");
	assert.equal((await desk.arrive(seat, way)).status, 303);
	assert.equal((await desk.arrive(seat, way)).status, 401, "again");
	const { pathname, search } = await seat.browser.follow((await desk.begin(seat, "corp")).location, callbackOf("corp"));
	const elsewhere = await ask(world.server, "GET", pathname + search, { cookie: begun.cookie });
	assert.deepEqual([elsewhere.status, elsewhere.headers.location], [401, undefined], "without the flow's cookie");
});

test("an ordinary sign-in confirms no session, and signing in again opens none", async () => {
	const seat = takeAlice();
	const begun = await desk.beginSignIn("oidc", "corp");
	const { way } = await comeBack("corp", begun, seat.browser);
	const code = new URL(way, world.server.url).search;
	const confirmed = await desk.arrive(seat, `/console/confirm/provider${code}`);
	await desk.isRefused("an ordinary sign-in", seat, confirmed, 401);
	const again = await comeBack("corp", await desk.begin(seat, "corp"), seat.browser);
	const { cookie } = await desk.beginSignIn("oidc", "corp");
	const headers = { "sec-fetch-site": "same-origin", cookie };
	const way_in = `/console/sign-in/sso${new URL(again.way, world.server.url).search}`;
	const entered = await ask(world.server, "GET", way_in, headers);
	assert.deepEqual([entered.status, String(entered.headers["set-cookie"] ?? "").includes(COOKIE)], [401, false]);
});

test("a forged form begins nothing, and a target leads nowhere else", async () => {
	const seat = takeAlice();
	const form = { provider: "corp", target: TARGET };
	const { origin, ...site } = ours(world.server);
	const forged: [what: string, headers: Record<string, string>, form: Record<string, string>][] = [
		["no origin", site, form],
		["another origin", { ...site, origin: "https://evil.test" }, form],
		["the same site", { origin, "sec-fetch-site": "same-site" }, form],
		["no token", ours(world.server), { ...form, form_token: "" }],
		["another session's token", ours(world.server), { ...form, form_token: mallory.form_token }],
	];
	for (const [what, headers, fields] of forged) {
		const answer = await desk.confirm(seat, fields, headers);
		assert.deepEqual(
			[answer.status, answer.headers.refresh, answer.headers["set-cookie"]],
			[403, undefined, undefined],
			what,
		);
	}
	for (const provider of ["liar", "none"]) {
		const answer = await desk.confirm(seat, { ...form, provider });
		assert.deepEqual([answer.status, answer.headers.refresh], [404, undefined], "not her provider");
	}
	for (const target of ["https://evil.test/", "//evil.test", "/console/../api", "javascript:alert(1)"]) {
		const shown = await desk.arrive(
			seat,
			`/console/confirm/provider?error=forbidden&target=${encodeURIComponent(target)}`,
		);
		assert.match(shown.text, /name="target" value="\/console">/, target);
		const { way } = await comeBack("corp", await desk.begin(seat, "corp", target), seat.browser);
		const arrived = await desk.arrive(seat, way);
		assert.deepEqual([arrived.status, arrived.headers.location], [303, "/console"], target);
	}
});

test("an account with a password is asked for that", async () => {
	const answer = await desk.confirm(rootSeat, { provider: "corp", target: TARGET });
	assert.deepEqual([answer.status, answer.headers.refresh], [400, undefined]);
});
