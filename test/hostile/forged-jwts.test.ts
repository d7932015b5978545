/* JWTs that prove nothing, sent to the real server about a real issuer over HTTPS: each is refused with the same answer. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused, sameRefusal } from "../harness/expect.ts";
import { machine, realm as newRealm, type Person, unique } from "../harness/fixtures.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { type ForgedJwt, forgedJwts, PUBLISHED_KEYS, RIGHT_KEYS } from "../peers/forged-jwts.ts";
import {
	githubClaims,
	type Issuer,
	type IssuerFault,
	type Json,
	newKey,
	part,
	signJwt,
	startIssuer,
} from "../peers/issuer.ts";

const AUDIENCE = "https://svc.example.com";
const CLAIMS = { repository_id: "2002", repository_owner_id: "1001", ref: "refs/heads/main", event_name: "push" };
/** Milliseconds before which no refusal is answered; timers may be early by one. */
const REFUSAL_MS = 249;

let server: Server;
let world: World;
const issuers: Issuer[] = [];

before(async () => {
	server = await startServer({ env: { SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1", SVC_LOG_LEVEL: "info" } });
	world = await createWorld(api(server));
});
after(async () => {
	await server.close();
	await Promise.all(issuers.map(({ stop }) => stop()));
});

async function issuer(): Promise<Issuer> {
	const peer = await startIssuer();
	issuers.push(peer);
	return peer;
}

const now_s = () => Math.floor(Date.now() / 1000);

/** A machine in a realm of its own that trusts an issuer's jobs of GitHub. */
async function trusting({ issuer: address, ca_cert }: Issuer, owner: Person = world.people.owner) {
	const { slug: realm } = await newRealm(world.api, owner);
	const { name } = await machine(world.api, owner, realm);
	const body = { type: "github", issuer: address, ca_cert, audience: AUDIENCE, claims: CLAIMS };
	ok(await world.api.put(`/realms/${realm}/machines/${name}/trusts/ci`, body, { token: owner.token }));
	const exchange = (jwt: string): Promise<Answer> => world.api.post("/auth/jwt", { realm, machine: name, jwt });
	return { realm, name, exchange };
}

/** Reasons of the refusals in the server's log, from a line on. */
function reasonsSince(lines: number): string[] {
	const refusals = logLines()
		.slice(lines)
		.filter((line) => line.includes('"jwt.refused"'));
	return refusals.map((line) => {
		const { reason, place } = JSON.parse(line) as { reason: string; place?: string };
		return place === undefined ? reason : `${reason} ${place}`;
	});
}

const sorted = (texts: readonly string[]) => texts.toSorted((one, other) => (one < other ? -1 : 1));

/** Waits until the log has these reasons from a line on, in any order. */
async function saidSince(lines: number, expected: readonly string[]): Promise<void> {
	await eventually("the log has each reason", async () => reasonsSince(lines).length >= expected.length);
	assert.deepEqual(sorted(reasonsSince(lines)), sorted(expected));
}

const logLines = () => `${server.stdout()}\n${server.stderr()}`.split("\n").filter((line) => line.startsWith("{"));

test("every JWT of the attack table gets the right answer; all refusals are equal, none early", async () => {
	const peer = await issuer();
	peer.faults = { keys: { does: "answer", body: JSON.stringify({ keys: PUBLISHED_KEYS }) } };
	const { exchange } = await trusting(peer);
	const now = now_s();
	const at = (over: Json) => signJwt(RIGHT_KEYS.rsa, { ...githubClaims(peer.issuer, AUDIENCE, now), ...over });
	const forged = [
		// Their times are a second beyond what is taken, or before: here the clock goes on.
		...forgedJwts({ issuer: peer.issuer, audience: AUDIENCE, now_s: now }).filter(
			// A body over 1 MiB is refused as every route's is.
			({ row, token }) => row !== 23 && row !== 24 && token.length < 1_000_000,
		),
		{ row: 23, what: "expired a minute ago", token: at({ exp: now - 60 }), answer: "expired exp" },
		{ row: 23, what: "nbf in two minutes", token: at({ nbf: now + 120 }), answer: "not_yet_valid nbf" },
		{ row: 23, what: "iat in two minutes", token: at({ iat: now + 120 }), answer: "not_yet_valid iat" },
		{ row: 24, what: "expired a moment ago", token: at({ exp: now - 10 }), answer: "accepted" },
	];
	assert.ok(forged.length > 90, `${forged.length}`);
	const asked = peer.asked.length;
	const lines = logLines().length;
	let first: Answer | undefined;
	const judge = async ({ row, what, token, answer: expected }: ForgedJwt) => {
		const started = performance.now();
		const answer = await exchange(token);
		const about = `row ${row}: ${what}`;
		if (expected === "accepted") return void assert.equal(answer.status, 200, about);
		assert.equal(answer.status, 401, about);
		assert.ok(performance.now() - started >= REFUSAL_MS, about);
		first ??= answer;
		sameRefusal(answer, first);
	};
	await Promise.all(forged.map(judge));
	refused(first ?? assert.fail("nothing was refused"), 401, "invalid_credentials");
	const expected = forged.map(({ answer }) => answer).filter((answer) => answer !== "accepted");
	await saidSince(lines, expected);
	assert.equal(peer.asked.length, asked, "nothing was fetched for any of them");
	assert.doesNotMatch(JSON.stringify(first), /repository|2002|1001/);
});

/** The same signature by ES256 in its other valid form: n − s in place of s. */
function otherSignature(jwt: string): string {
	const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
	const [header, claims, signature = ""] = jwt.split(".");
	const bytes = Buffer.from(signature, "base64url");
	const other = (N - BigInt(`0x${bytes.subarray(32).toString("hex")}`)).toString(16).padStart(64, "0");
	return `${header}.${claims}.${part(Buffer.concat([bytes.subarray(0, 32), Buffer.from(other, "hex")]))}`;
}

test("rows 1 to 6: a JWT is accepted once, whatever its encoding, its id or its timing", async () => {
	const peer = await issuer();
	peer.keys = [RIGHT_KEYS.es];
	const { exchange } = await trusting(peer);
	const claims = () => githubClaims(peer.issuer, AUDIENCE, now_s());
	const jwt = signJwt(RIGHT_KEYS.es, claims());
	const at_once = await Promise.all(Array.from({ length: 50 }, () => exchange(jwt)));
	assert.equal(at_once.filter(({ status }) => status === 200).length, 1);
	const lines = logLines().length;
	refused(await exchange(jwt), 401);
	refused(await exchange(otherSignature(jwt)), 401);
	refused(
		await exchange(
			signJwt(RIGHT_KEYS.es, {
				...claims(),
				jti: JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()).jti,
			}),
		),
		401,
	);
	const { jti: _, ...nameless } = claims();
	const anonymous = signJwt(RIGHT_KEYS.es, nameless);
	ok(await exchange(anonymous));
	refused(await exchange(anonymous), 401);
	refused(await exchange(otherSignature(anonymous)), 401);
	await saidSince(
		lines,
		Array.from({ length: 5 }, () => "replay"),
	);
	refused(await exchange(signJwt(RIGHT_KEYS.es, { ...claims(), jti: unique("j"), aud: "https://other.example" })), 401);
});

const REDIRECT = { location: "https://169.254.169.254/latest/meta-data" };

/** Faults of an issuer that gave its keys when the trust was made, and the reason of what follows. */
const FAULTS: readonly (readonly [what: string, faults: Issuer["faults"], reason: string])[] = [
	["is away", { discovery: { does: "answer", status: 503 } }, "keys_unavailable"],
	["hangs", { discovery: { does: "hang" } }, "keys_unavailable"],
	["drips", { keys: { does: "drip" } }, "keys_unavailable"],
	["answers without end", { keys: { does: "flood" } }, "keys_unavailable"],
	["sends a bomb", { keys: { does: "bomb" } }, "keys_unavailable"],
	[
		"redirects to the metadata service",
		{ discovery: { does: "answer", status: 302, headers: REDIRECT } as IssuerFault },
		"keys_unavailable",
	],
];

test("an issuer that is down, slow, endless or redirects lets nobody in; a rotated key is accepted", async () => {
	const faulty = await Promise.all(
		FAULTS.map(async ([what, faults, reason]) => ({ what, faults, reason, peer: await issuer() })),
	);
	const [moved, rotated] = [await issuer(), await issuer()];
	const { owner, admin, member, viewer } = world.people;
	// Of one account's realms, two issuers are asked at the same time.
	const owners = [owner, admin, member, viewer];
	const peers = [...faulty.map(({ peer }) => peer), moved, rotated];
	const machines = await Promise.all(peers.map((peer, at) => trusting(peer, owners[at % owners.length])));
	for (const { peer, faults } of faulty) peer.faults = faults;
	moved.metadata = (truth) => ({ ...truth, jwks_uri: "https://169.254.169.254/keys" });
	const old = rotated.keys[0] ?? assert.fail("no key");
	rotated.keys = [newKey("ES256", "second")];
	// A server that has just started remembers no keys.
	await server.restart();
	const lines = logLines().length;
	const exchanges = [...faulty.map(({ peer }) => peer), moved].map(async (peer, index) => {
		const started = performance.now();
		const answer = await machines[index]?.exchange(peer.mint(githubClaims(peer.issuer, AUDIENCE, now_s())));
		refused(answer ?? assert.fail("no machine"), 401, "invalid_credentials");
		assert.ok(performance.now() - started < 8000, "it takes no longer than a fetch may");
	});
	const exchange = machines.at(-1)?.exchange ?? assert.fail("no machine");
	ok(await exchange(rotated.mint(githubClaims(rotated.issuer, AUDIENCE, now_s()))));
	refused(await exchange(signJwt(old, githubClaims(rotated.issuer, AUDIENCE, now_s()))), 401);
	await Promise.all(exchanges);
	const expected = [...faulty.map(({ reason }) => reason), "keys_moved", "key"];
	await saidSince(lines, expected);
});
