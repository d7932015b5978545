/* Asking again for people without a password, at a SAML provider. Design: §16 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inflateRawSync } from "node:zlib";
import { requestIdOf, type Said, writeDocument } from "../peers/saml-documents.ts";
import type { Begun } from "./oidc-world.ts";
import { type Desk, deskOf, LATE, type Seat, TARGET } from "./reauthentication-world.ts";
import { type SamlWorld, startSamlWorld } from "./saml-world.ts";

const TEN_MINUTES_MS = 10 * 60_000;
const FORBIDDEN = `/console/confirm/provider?error=forbidden&target=${encodeURIComponent(TARGET)}`;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: SamlWorld;
let desk: Desk;
let alice: Seat;

before(async () => {
	world = await startSamlWorld(LATE);
	ends.defer(world.close);
	desk = deskOf(world.server);
	await world.set("saml");
	alice = await signIn({ now: new Date(Date.now() - TEN_MINUTES_MS) });
	await desk.passTime(alice);
});

/** Posts the provider's answer, as a browser does. */
function answer({ location, cookie }: Begun, changes: Partial<Said> = {}) {
	const said = world.said("saml", { location, cookie, request_id: requestIdOf(location) }, changes);
	return world.finish("saml", writeDocument(said, world.key), cookie);
}

async function signIn(changes: Partial<Said>): Promise<Seat> {
	const begun = await desk.beginSignIn("saml", "saml");
	const posted = await answer(begun, changes);
	return desk.endSignIn(String(posted.headers.location), begun);
}

test("svc requests a new sign-in from the provider and accepts neither an old one nor another person's", async () => {
	const begun = await desk.begin(alice, "saml");
	const request = new URL(begun.location).searchParams.get("SAMLRequest") ?? "";
	assert.match(
		inflateRawSync(Buffer.from(request, "base64")).toString(),
		/<samlp:AuthnRequest [^>]* ForceAuthn="true"/,
	);
	await world.refusals();
	const old = await answer(begun, { signed_in_s: -60 });
	assert.deepEqual([old.status, old.headers.location], [302, FORBIDDEN]);
	await desk.isRefused("an old sign-in", alice, await desk.arrive(alice, FORBIDDEN), 403);
	const others = await answer(await desk.begin(alice, "saml"), { name_id: "eve" });
	await desk.isRefused("Eve", alice, await desk.arrive(alice, String(others.headers.location)), 403);
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(reasons, ["auth_time", "another_person"]);
});

test("Alice signs in at the provider again, and comes back to her page", async () => {
	const begun = await desk.begin(alice, "saml");
	const posted = await answer(begun);
	const way = String(posted.headers.location);
	assert.match(way, /^\/console\/confirm\/provider\?code=[\w-]{43}$/);
	const arrived = await desk.arrive(alice, way);
	assert.deepEqual([arrived.status, arrived.headers.location], [303, TARGET]);
	assert.equal(await desk.isAsked(alice), false);
	assert.equal((await answer(begun)).status, 401, "a request is answered once");
});

test("a new session counts as a confirmation only from the sign-in that the provider names", async () => {
	assert.ok(await desk.isAsked(await signIn({ signed_in_s: -310 })));
	assert.equal(await desk.isAsked(await signIn({ signed_in_s: -240 })), false);
});
