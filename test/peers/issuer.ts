import {
	constants,
	generateKeyPairSync,
	type KeyObject,
	randomBytes,
	randomUUID,
	sign,
	type webcrypto,
} from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { startTlsServer } from "./oidc-server.ts";

/** A JSON object. */
export type Json = Record<string, unknown>;

/** The way an algorithm signs: Ed25519 hashes by itself, and RSA has no curve. */
interface Signing {
	readonly hash?: string;
	readonly curve?: string;
	readonly padding?: number;
	readonly saltLength?: number;
}

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };

const ALGORITHMS = {
	RS256: { hash: "sha256" },
	RS384: { hash: "sha384" },
	RS512: { hash: "sha512" },
	PS256: { hash: "sha256", ...PSS },
	PS384: { hash: "sha384", ...PSS },
	PS512: { hash: "sha512", ...PSS },
	ES256: { hash: "sha256", curve: "P-256" },
	ES384: { hash: "sha384", curve: "P-384" },
	ES512: { hash: "sha512", curve: "P-521" },
	ES256K: { hash: "sha256", curve: "secp256k1" },
	EdDSA: { curve: "Ed25519" },
	Ed25519: { curve: "Ed25519" },
} satisfies Record<string, Signing>;

/** A private key that signs JWTs, and the public one as issuers publish it. */
export interface SigningKey {
	readonly alg: keyof typeof ALGORITHMS;
	readonly kid: string;
	readonly key: KeyObject;
	readonly jwk: webcrypto.JsonWebKey & Json;
}

/** Makes a key pair. @param bits of an RSA key */
export function newKey(alg: SigningKey["alg"], kid: string, bits = 2048): SigningKey {
	const { curve }: Signing = ALGORITHMS[alg];
	const pair = curve === undefined ? generateKeyPairSync("rsa", { modulusLength: bits }) : pairOn(curve);
	const jwk = { ...pair.publicKey.export({ format: "jwk" }), kid, use: "sig", alg };
	return { alg, kid, key: pair.privateKey, jwk };
}

function pairOn(curve: string): { publicKey: KeyObject; privateKey: KeyObject } {
	return curve === "Ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ec", { namedCurve: curve });
}

/** Encodes a part of a JWT: JSON, a text as it is, or bytes. */
export function part(value: Json | string | Buffer): string {
	const is_raw = typeof value === "string" || Buffer.isBuffer(value);
	return Buffer.from(is_raw ? value : JSON.stringify(value)).toString("base64url");
}

/** Signs a header and claims, which may be texts that are no good JSON. */
export function signJwt(key: SigningKey, claims: Json | string | Buffer, header: Json | string = {}): string {
	const { alg, kid } = key;
	const signed = `${part(typeof header === "string" ? header : { alg, typ: "JWT", kid, ...header })}.${part(claims)}`;
	const { hash, curve: _, ...padding }: Signing = ALGORITHMS[alg];
	const how = { key: key.key, dsaEncoding: "ieee-p1363" as const, ...padding };
	return `${signed}.${sign(hash, Buffer.from(signed), how).toString("base64url")}`;
}

/** Claims of a job in GitHub Actions: a push to the main branch. */
export function githubClaims(issuer: string, audience: string, now_s: number): Json {
	return {
		iss: issuer,
		aud: audience,
		sub: "repo:octo@1001/shop@2002:ref:refs/heads/main",
		iat: now_s,
		nbf: now_s - 600,
		exp: now_s + 300,
		jti: randomUUID(),
		repository: "octo/shop",
		repository_id: "2002",
		repository_owner: "octo",
		repository_owner_id: "1001",
		ref: "refs/heads/main",
		ref_type: "branch",
		event_name: "push",
		runner_environment: "github-hosted",
		job_workflow_ref: "octo/shop/.github/workflows/deploy.yml@refs/heads/main",
	};
}

/** Claims of a job in GitLab CI: a protected branch. */
export function gitlabClaims(issuer: string, audience: string, now_s: number): Json {
	return {
		iss: issuer,
		aud: audience,
		sub: "project_path:octo/shop:ref_type:branch:ref:main",
		iat: now_s,
		nbf: now_s - 5,
		exp: now_s + 3600,
		jti: randomUUID(),
		project_id: "22",
		namespace_id: "11",
		ref: "main",
		ref_path: "refs/heads/main",
		ref_type: "branch",
		ref_protected: "true",
		pipeline_source: "push",
		runner_id: 7,
	};
}

/** A fault that replaces an endpoint's right answer. */
export type IssuerFault =
	| { does: "answer"; status?: number; body?: string; headers?: Record<string, string> }
	/** No answer; the connection ends; a byte every 200 ms; an endless answer; a small answer that unpacks to 16 MiB. */
	| { does: "hang" | "drop" | "drip" | "flood" | "bomb" };

/** An issuer of JWTs on loopback, with discovery, keys, and the address at which a job of GitHub asks for its JWT. */
export interface Issuer {
	/** `https://127.0.0.1:port`. */
	readonly issuer: string;
	/** PEM of the authority that signed its certificate. */
	readonly ca_cert: string;
	/** Paths of all requests, in order. */
	readonly asked: string[];
	/** Keys that it publishes. The first one signs. */
	keys: SigningKey[];
	faults: { discovery?: IssuerFault; keys?: IssuerFault };
	/** Changes the discovery document. */
	metadata: (truth: Json) => Json;
	/** Claims of the jobs of GitHub; `aud` is what the job asks for. */
	job: Json;
	/** Environment of a job of GitHub: the address that gives it a JWT, and the token for that address. */
	readonly job_environment: { ACTIONS_ID_TOKEN_REQUEST_URL: string; ACTIONS_ID_TOKEN_REQUEST_TOKEN: string };
	/** Signs claims with the first key. */
	mint(claims: Json, header?: Json): string;
	stop(): Promise<void>;
}

const BOMB = gzipSync(Buffer.alloc(16 * 1024 * 1024, " "));
const DISCOVERY = "/.well-known/openid-configuration";

/** Starts an issuer on a free port. */
export async function startIssuer(): Promise<Issuer> {
	const { origin, ca, answer, stop } = await startTlsServer();
	const token = randomBytes(16).toString("hex");
	const peer: Issuer = {
		issuer: origin,
		ca_cert: ca,
		asked: [],
		keys: [newKey("RS256", "first")],
		faults: {},
		metadata: (truth) => truth,
		job: {},
		job_environment: {
			ACTIONS_ID_TOKEN_REQUEST_URL: `${origin}/job?api-version=2.0`,
			ACTIONS_ID_TOKEN_REQUEST_TOKEN: token,
		},
		mint: (claims, header) => signJwt(peer.keys[0] as SigningKey, claims, header),
		stop,
	};
	answer((request, response) => void respond(peer, token, request, response));
	return peer;
}

async function respond(peer: Issuer, token: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
	const { pathname, searchParams } = new URL(request.url ?? "", peer.issuer);
	peer.asked.push(pathname);
	response.setHeader("content-type", "application/json");
	if (pathname === "/job") {
		if (request.headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end("{}");
		const truth = githubClaims(peer.issuer, searchParams.get("audience") ?? "", Math.floor(Date.now() / 1000));
		return void response.end(JSON.stringify({ value: peer.mint({ ...truth, ...peer.job }) }));
	}
	const { issuer, keys, faults } = peer;
	if (pathname === DISCOVERY) {
		const truth = { issuer, jwks_uri: `${issuer}/keys`, id_token_signing_alg_values_supported: ["RS256", "ES256"] };
		return send(response, JSON.stringify(peer.metadata(truth)), faults.discovery);
	}
	if (pathname === "/keys") {
		// As Kubernetes does.
		if (!/jwk-set\+json|\*\/\*/.test(request.headers.accept ?? "*/*")) return void response.writeHead(406).end("{}");
		response.setHeader("content-type", "application/jwk-set+json");
		return send(response, JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }), faults.keys);
	}
	response.writeHead(404).end("{}");
}

async function send(response: ServerResponse, body: string, fault: IssuerFault | undefined): Promise<void> {
	if (fault === undefined) return void response.end(body);
	if (fault.does === "answer") {
		return void response.writeHead(fault.status ?? 200, fault.headers).end(fault.body ?? body);
	}
	if (fault.does === "drop") return void response.destroy();
	if (fault.does === "flood") return flood(response);
	if (fault.does === "bomb") {
		response.setHeader("content-encoding", "gzip");
		return void response.end(BOMB);
	}
	if (fault.does === "hang") return;
	for (const character of body) {
		if (response.destroyed) return;
		response.write(character);
		await setTimeout(200);
	}
	response.end();
}

/** Writes blanks, which may precede JSON, for as long as the client accepts them. */
function flood(response: ServerResponse): void {
	const blanks = Buffer.alloc(65_536, " ");
	const more = () => {
		while (!response.destroyed && response.write(blanks));
	};
	response.on("drain", more);
	more();
}
