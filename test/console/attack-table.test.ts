/* Attacks on every page and every form: the lists come from the console's own routes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { endpointsOf } from "../../packages/server/src/console/endpoints.ts";
import { ask, COOKIE, enter, ours, tokenOf } from "../harness/console.ts";
import { type ConsoleWorld, PAGES, startConsoleWorld } from "../harness/console-world.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, login, PASSWORD, unique } from "../harness/fixtures.ts";

type Session = { cookie: string };

const ends = new AsyncDisposableStack();
let world: ConsoleWorld;
let session: Session;
let other: Session;

before(async () => {
	world = await startConsoleWorld();
	ends.defer(world.close);
	[session, other] = [await enter(world.server, world.admin), await enter(world.server, world.admin)];
});
after(() => ends.disposeAsync());

const send = (method: string, path: string, headers: Record<string, string>, form?: Record<string, string>) =>
	ask(world.server, method, path, headers, form);

/** Addresses of the pages that need a session. */
const addresses = () => PAGES.filter(({ isPublic }) => !isPublic).map(({ path }) => path(world.slug, world.ids));

/** Addresses of all forms that need a session: those of the pages, and the one that signs out. */
function forms(): string[] {
	const known = [...addresses(), "/console/sign-out"];
	const posts = endpointsOf({ server: {} } as never).filter(({ method }) => method === "POST");
	assert.ok(posts.length >= 20);
	const found = posts.map(({ path }) => {
		const one = known.find((address) => path.test(new URL(address, "https://svc.test").pathname));
		assert.ok(one, `no page of the list has the form ${path}`);
		return one;
	});
	return [...found, "/console/sign-out"];
}

const eventCount = async () =>
	ok(await world.client.get<{ pagination: { total: number } }>("/audit/events?include_total=true&limit=1", world.admin))
		.pagination.total;

test("no form can be forged, and a forgery reaches no rule", async () => {
	const { server } = world;
	const [form_token, foreign] = [await tokenOf(server, session), await tokenOf(server, other)];
	const { origin, ...site } = ours(server);
	const right = { ...session, ...ours(server) };
	const forgeries: readonly (readonly [
		what: string,
		headers: Record<string, string>,
		token: string,
		status: number,
	])[] = [
		["no origin", { ...session, ...site }, form_token, 403],
		["another origin", { ...right, origin: "https://evil.test" }, form_token, 403],
		[
			"a subdomain",
			{ ...right, "sec-fetch-site": "same-site", origin: origin.replace("//", "//sub.") },
			form_token,
			403,
		],
		["another site", { ...right, "sec-fetch-site": "cross-site" }, form_token, 403],
		["no Sec-Fetch-Site", { ...session, origin }, form_token, 403],
		["a frame", { ...right, "sec-fetch-dest": "iframe" }, form_token, 403],
		["a script", { ...right, "sec-fetch-dest": "empty" }, form_token, 403],
		["no token", right, "", 403],
		["another session's token", right, foreign, 403],
		["another host", { ...right, host: "evil.test" }, form_token, 421],
		["nobody", ours(server), form_token, 401],
		["two cookies", { ...right, cookie: `${session.cookie}; ${other.cookie}` }, form_token, 401],
	];
	const before = await eventCount();
	for (const address of forms())
		for (const [what, headers, token, expected] of forgeries) {
			const { status } = await send("POST", address, headers, { form_token: token });
			assert.equal(status, expected, `${address}: ${what}`);
		}
	assert.equal(await eventCount(), before);
	assert.equal((await send("GET", "/console", session)).status, 200, "nobody was signed out");
});

const POLICY =
	/^default-src 'none'; style-src 'sha256-[^' ]+'; script-src 'sha256-[^' ]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; trusted-types 'none'; require-trusted-types-for 'script'$/;

test("every page is for its session alone, and may be neither framed nor cached", async () => {
	const { client, admin } = world;
	const { token } = await apiToken(client, admin, "read,write,delete");
	const bearer = await login(client, admin);
	const strangers: readonly (readonly [what: string, headers: Record<string, string>])[] = [
		["nobody", {}],
		["an API token in the cookie's place", { cookie: `${COOKIE}=${token}` }],
		["a session of the API in the cookie's place", { cookie: `${COOKIE}=${bearer}` }],
		["a bearer", { authorization: `Bearer ${token}` }],
		["a cookie without its prefix, as a subdomain can set it", { cookie: session.cookie.replace("__Host-", "") }],
		["a second cookie of the name", { cookie: `${session.cookie}; ${COOKIE}=planted` }],
	];
	for (const address of addresses()) {
		const { status, headers, text } = await send("GET", address, session);
		assert.ok(status < 500, address);
		const isMoved = status === 303;
		if (!isMoved) assert.match(String(headers["content-security-policy"]), POLICY, address);
		if (!isMoved) assert.equal(headers["x-frame-options"], "DENY", address);
		assert.equal(headers["cache-control"], "no-store", address);
		assert.equal(headers["referrer-policy"], "same-origin", address);
		assert.doesNotMatch(text, /\sstyle=|\son\w+="/, address);
		for (const dest of ["iframe", "object", "empty"])
			assert.equal((await send("GET", address, { ...session, "sec-fetch-dest": dest })).status, 403, address);
		for (const [what, given] of strangers)
			assert.equal((await send("GET", address, given)).status, 401, `${address}: ${what}`);
	}
});

/** Markup that names the field that it was stored in. */
const markup = (field: string) => `<img src=x onerror="alert(1)"><script>alert(1)</script>'& ${field}.`;

/** Stores markup wherever somebody may store a text. @returns the fields */
async function storeMarkup(): Promise<string[]> {
	const { client, admin, slug, write } = world;
	const { token } = admin;
	const put = async (path: string, body: object) => ok(await client.put(path, body, { token }));
	await put(`/realms/${slug}`, { name: markup("realm name"), description: markup("realm description") });
	await write("payments/DB_URL", "one", "prod", markup("comment"));
	await put(`/realms/${slug}/machines/deploy`, { role: "viewer", description: markup("machine description") });
	ok(
		await client.post(`/realms/${slug}/machines/deploy/tokens`, { name: markup("machine token"), ttl: "1h" }, admin),
		201,
	);
	ok(await client.post("/auth/tokens", { name: markup("token") }, { token }), 201);
	await put("/auth/providers/tree", {
		type: "ldap",
		display_name: markup("provider"),
		config: { url: "ldap://127.0.0.1:1", user_base_dn: markup("base DN") },
	});
	const guest = { email: `${unique("guest")}@example.test`, password: PASSWORD, name: markup("account name") };
	ok(await client.post("/auth/register", guest), 201);
	ok(await client.post(`/leases/${world.ids.lease}/abandon`, { reason: markup("reason") }, { token }));
	ok(await client.get("/auth/whoami", { token, headers: { "user-agent": markup("program") } }));
	return [
		...["realm name", "realm description", "comment", "machine description", "machine token"],
		...["token", "provider", "base DN", "account name", "reason"],
	];
}

test("markup in every field that is stored is text on every page", async () => {
	const fields = await storeMarkup();
	const shown = new Set<string>();
	for (const address of [...addresses(), "/console/sign-in", "/console/providers/tree"]) {
		const { text } = await send("GET", address, session);
		assert.doesNotMatch(text, /<img|<script>|\sonerror="/, address);
		for (const field of fields) if (text.includes(`&lt;/script&gt;&#39;&amp; ${field}.`)) shown.add(field);
	}
	assert.deepEqual(shown, new Set(fields), "each is on a page, or its test proves nothing");
});
