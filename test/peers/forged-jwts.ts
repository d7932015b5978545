import { createHmac, createPublicKey, sign } from "node:crypto";
import { githubClaims, type Json, newKey, part, type SigningKey, signJwt } from "./issuer.ts";

/** A JWT of the table of attacks, with its row and the right answer: `accepted`, or the reason and place of the refusal. */
export interface ForgedJwt {
	row: number;
	what: string;
	token: string;
	answer: string;
}

/** The trust that the JWTs attack: its issuer, audience, and claims as `githubClaims` makes them. */
export interface Target {
	issuer: string;
	audience: string;
	now_s: number;
}

const rsa = newKey("RS256", "rsa");
const es = newKey("ES256", "es");
const weak = newKey("RS256", "weak", 1024);
const bare = newKey("RS256", "bare");
const enc = newKey("RS256", "enc");
const stranger = newKey("RS256", "rsa");
const { alg: _, ...bare_jwk } = bare.jwk;
/** One of each permitted algorithm besides. */
const further = (["RS384", "RS512", "PS256", "PS384", "PS512", "ES384", "ES512", "EdDSA", "Ed25519"] as const).map(
	(alg) => newKey(alg, alg),
);
/** Of the curve of Bitcoin, which is not permitted. */
const koblitz = newKey("ES256K", "koblitz");

/** Signing keys whose public halves the issuer publishes. */
export const RIGHT_KEYS = { rsa, es };

/** Keys that the issuer publishes: good ones, a weak one, one for encryption, a shared one and a broken one. */
export const PUBLISHED_KEYS: Json[] = [
	...[rsa.jwk, es.jwk, weak.jwk, bare_jwk, { ...enc.jwk, use: "enc" }],
	...[...further, koblitz].map(({ jwk }) => jwk),
	{ kty: "oct", kid: "oct", k: Buffer.alloc(32, 7).toString("base64url") },
	{ kty: "RSA", kid: "broken", n: "!", e: "AQAB" },
];

type Row = [row: number, what: string, token: string, answer: string];

const CLAIM = "claim repository_id";
const PSS = { padding: 6, saltLength: 32 };
const YEAR_S = 365 * 24 * 3600;

/** Makes every JWT of the table of attacks that needs one trust and no memory. */
export function forgedJwts(target: Target): ForgedJwt[] {
	const forge = forger(target);
	const rows = [
		...[claimRows, audienceRows, issuerRows, timeRows],
		...[keyRows, algorithmRows, headerRows, payloadRows, shapeRows],
	];
	return rows
		.flatMap((make) => make(forge, target))
		.map(([row, what, token, answer]) => ({ row, what, token, answer }));
}

type Forge = ReturnType<typeof forger>;

function forger({ issuer, audience, now_s }: Target) {
	const claims = (over: Json = {}): Json => ({ ...githubClaims(issuer, audience, now_s), ...over });
	return {
		claims,
		with: (over: Json, header: Json = {}, key: SigningKey = rsa) => signJwt(key, claims(over), header),
		text: (change: (truth: string) => string) => signJwt(rsa, change(JSON.stringify(claims()))),
		hmac(header: Json & { alg: string }, key: string | Buffer) {
			const signed = `${part(header)}.${part(claims())}`;
			const hash = header.alg.replace("HS", "sha");
			return `${signed}.${createHmac(hash, key).update(signed).digest("base64url")}`;
		},
		signed(header: Json, key: SigningKey, how: object) {
			const text = `${part(header)}.${part(claims())}`;
			return `${text}.${sign("sha256", Buffer.from(text), { key: key.key, ...how }).toString("base64url")}`;
		},
	};
}

function claimRows({ with: make, text }: Forge): Row[] {
	const id = (value: unknown) => make({ repository_id: value });
	const hidden = { repository_id: undefined, x: { repository_id: "2002" } };
	const inPrototype = (truth: string) => {
		return truth.replace('"repository_id":"2002"', '"__proto__":{"repository_id":"2002"}');
	};
	return [
		[7, "renamed repository, other id", id("3003"), CLAIM],
		[8, "other owner", make({ repository_owner_id: "9" }), "claim repository_owner_id"],
		[9, "pull_request_target", make({ event_name: "pull_request_target" }), "claim event_name"],
		[10, "tag named like the branch", make({ ref: "refs/tags/main" }), "claim ref"],
		[10, "other branch", make({ ref: "refs/heads/dev" }), "claim ref"],
		[10, "merge ref", make({ ref: "refs/pull/1/merge" }), "claim ref"],
		[11, "claim as number", id(2002), CLAIM],
		[11, "claim as array", id(["2002"]), CLAIM],
		[11, "claim as object", id({ 2002: "2002" }), CLAIM],
		[11, "claim null", id(null), CLAIM],
		[11, "claim absent", id(undefined), CLAIM],
		[12, "blank", id("2002 "), CLAIM],
		[12, "NUL", id("2002\0"), CLAIM],
		[12, "full-width digit", id("200２"), CLAIM],
		[12, "Cyrillic letter", make({ ref: "refs/heads/mаin" }), "claim ref"],
		[13, "claim in another object", make(hidden), CLAIM],
		[13, "claim in __proto__", text(inPrototype), CLAIM],
		[14, "name twice", text((truth) => truth.replace("{", '{"repository_id":"3003",')), "malformed"],
		[14, "name twice, escaped", text((truth) => truth.replace("{", '{"repository\\u005fid":"3003",')), "malformed"],
		...[1, "", ["a"], "a".repeat(300)].map((jti): Row => [28, "jti", make({ jti }), "malformed jti"]),
	];
}

function audienceRows({ with: make }: Forge, { audience }: Target): Row[] {
	const wrong: [row: number, what: string, aud: unknown][] = [
		[16, "other audience", "https://other.example.com"],
		[16, "no audience", undefined],
		[16, "empty audience", ""],
		[16, "audience with slash", `${audience}/`],
		[16, "audience in capitals", audience.toUpperCase()],
		[16, "audience as prefix", `${audience}.evil.example`],
		[17, "two audiences", [audience, "https://other.example"]],
		[18, "nested audience", [[audience]]],
		[18, "audience a number", 1],
		[18, "audience an object", { 0: audience }],
		[19, "audience and a number", [audience, 1]],
	];
	return [
		...wrong.map(([row, what, aud]): Row => [row, what, make({ aud }), "audience aud"]),
		[20, "audience in a list", make({ aud: [audience] }), "accepted"],
	];
}

function issuerRows({ with: make }: Forge, { issuer }: Target): Row[] {
	const { protocol, host } = new URL(issuer);
	const wrong = [
		...[`${issuer}/`, issuer.toUpperCase(), `${issuer}:443`, issuer.replace(protocol, "http:")],
		...["https://other.example", `${protocol}//аctions.example`, [issuer], undefined, `${protocol}//x@${host}`],
	];
	return [
		...wrong.map((iss): Row => [21, `issuer ${iss}`, make({ iss }), "issuer"]),
		[22, "issuer of an enterprise", make({ iss: `${issuer}/octo` }), "issuer"],
	];
}

function timeRows({ with: make, text }: Forge, { now_s }: Target): Row[] {
	const infinite = text((truth) => truth.replace(/"exp":\d+/, '"exp":1e999'));
	return [
		[23, "expired 31 s ago", make({ exp: now_s - 31 }), "expired exp"],
		[23, "nbf in 31 s", make({ nbf: now_s + 32 }), "not_yet_valid nbf"],
		[23, "iat in 31 s", make({ iat: now_s + 32 }), "not_yet_valid iat"],
		[24, "expired 29 s ago", make({ exp: now_s - 29 }), "accepted"],
		[24, "iat in 29 s", make({ iat: now_s + 29 }), "accepted"],
		[25, "no exp", make({ exp: undefined }), "times exp"],
		[25, "no iat", make({ iat: undefined }), "times iat"],
		...["exp", "nbf", "iat"].flatMap((name): Row[] => [
			[26, `${name} as text`, make({ [name]: String(now_s) }), `times ${name}`],
			[26, `${name} null`, make({ [name]: null }), `times ${name}`],
		]),
		[27, "exp 1e999", infinite, "times exp"],
		[27, "exp in milliseconds", make({ exp: (now_s + 300) * 1000 }), "times exp"],
		[27, "exp in ten years", make({ exp: now_s + 10 * YEAR_S }), "times exp"],
		[27, "exp in 26 hours", make({ exp: now_s + 26 * 3600 }), "times exp"],
	];
}

function keyRows({ with: make, signed }: Forge): Row[] {
	const own: Json = {
		jwk: stranger.jwk,
		jku: "https://127.0.0.1:1/keys",
		x5u: "https://127.0.0.1:1/c",
		x5c: ["AAAA"],
	};
	return [
		[31, "RS256 with the kid of an oct key", make({}, { kid: "oct" }), "key"],
		[32, "RS256 with the kid of an EC key", make({}, { kid: "es" }), "key"],
		[32, "PS256 with a key for RS256", signed({ alg: "PS256", kid: "rsa" }, rsa, PSS), "key"],
		[33, "PS256 with a key for any", signed({ alg: "PS256", kid: "bare" }, bare, PSS), "accepted"],
		[34, "RSA of 1,024 bits", make({}, {}, weak), "key"],
		[35, "unknown kid", make({}, { kid: "unknown" }), "key"],
		[35, "path as kid", make({}, { kid: "../../dev/null" }), "key"],
		[35, "key for encryption", make({}, {}, enc), "key"],
		[36, "kid a number", make({}, { kid: 1 }), "header kid"],
		[36, "kid a list", make({}, { kid: ["rsa"] }), "header kid"],
		[37, "no kid, several keys", make({}, { kid: undefined }), "key"],
		[37, "no kid, one key", make({}, { kid: undefined }, es), "accepted"],
		...Object.entries(own).map(([name, value]): Row => {
			return [38, `own key by ${name}`, make({}, { [name]: value }, stranger), "signature"];
		}),
	];
}

function algorithmRows({ claims, with: make, hmac }: Forge): Row[] {
	const pem = createPublicKey({ key: rsa.jwk, format: "jwk" }).export({ type: "spki", format: "pem" });
	return [
		...["none", "nOnE"].flatMap((alg): Row[] => [
			[29, `${alg} with a signature`, make({}, { alg }), "header alg"],
			[29, alg, `${part({ alg })}.${part(claims())}.`, "malformed"],
		]),
		...["HS256", "HS384", "HS512"].flatMap((alg): Row[] => [
			[30, `${alg} with the PEM`, hmac({ alg, kid: "rsa" }, String(pem)), "header alg"],
			[30, `${alg} with the JWK`, hmac({ alg, kid: "rsa" }, JSON.stringify(rsa.jwk)), "header alg"],
			[31, `${alg} with the issuer's oct key`, hmac({ alg, kid: "oct" }, Buffer.alloc(32, 7)), "header alg"],
		]),
		[32, "ES256K with a key of the issuer", make({}, {}, koblitz), "header alg"],
		...further.map((key): Row => [33, `${key.alg} with its key`, make({}, {}, key), "accepted"]),
	];
}

function headerRows({ claims, with: make }: Forge): Row[] {
	const twice = '{"alg":"none","alg":"RS256","kid":"rsa"}';
	return [
		[15, "alg twice", signJwt(rsa, claims(), twice), "malformed"],
		...[["exp"], [], "exp"].map((crit): Row => [39, `crit ${crit}`, make({}, { crit }), "header crit"]),
		[40, "b64 false with crit", make({}, { b64: false, crit: ["b64"] }), "header crit"],
		[41, "b64 without crit", make({}, { b64: false }), "header b64"],
		[41, "b64 true with crit", make({}, { b64: true, crit: ["b64"] }), "header crit"],
		...["dpop+jwt", "logout+jwt", 1].map((typ): Row => [42, `typ ${typ}`, make({}, { typ }), "header typ"]),
		[42, "no typ", make({}, { typ: undefined }), "accepted"],
	];
}

function payloadRows({ claims, text }: Forge): Row[] {
	const truth = JSON.stringify(claims());
	const nested = `{"alg":"RS256","a":${"[".repeat(2000)}${"]".repeat(2000)}}`;
	const deep = `{"a":${"[".repeat(300_000)}${"]".repeat(300_000)}}`;
	const none = ["[]", "null", '"text"', `${truth} x`, Buffer.from(truth, "utf16le"), Buffer.from([0x7b, 0xff, 0x7d])];
	return [
		...none.map((payload): Row => [43, "payload that is no object", signJwt(rsa, payload), "malformed"]),
		[44, "BOM", signJwt(rsa, `\ufeff${truth}`), "malformed"],
		[44, "lone surrogate elsewhere", text((good) => good.replace("{", '{"actor":"\\ud800",')), "accepted"],
		[45, "deeply nested payload", signJwt(rsa, deep), "malformed"],
		[45, "nested payload", signJwt(rsa, nested), "malformed"],
		[45, "nested header", signJwt(rsa, claims(), nested), "malformed"],
	];
}

function shapeRows({ claims, with: make, signed }: Forge): Row[] {
	const good = make({});
	const [head = "", body = "", signature = ""] = good.split(".");
	return [
		[46, "17 KiB", make({ a: "x".repeat(17_000) }), "malformed"],
		[46, "900 KB", make({ a: "x".repeat(900_000) }), "malformed"],
		[47, "two parts", `${head}.${body}`, "malformed"],
		[47, "four parts", `${good}.${body}`, "malformed"],
		[47, "five parts", `${good}.a.b`, "malformed"],
		[47, "JWT in a JWT", signJwt(rsa, good), "malformed"],
		[47, "empty", "", "malformed"],
		[48, "signature of zeros", `${head}.${body}.${part(Buffer.alloc(256))}`, "signature"],
		[48, "no signature", `${head}.${body}.`, "malformed"],
		[48, "DER", signed({ alg: "ES256", kid: "es" }, es, {}), "signature"],
		[48, "other content", `${head}.${part(claims({ run_id: "1" }))}.${signature}`, "signature"],
		[48, "another key", make({}, {}, stranger), "signature"],
	];
}
