import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { type OidcPeer, startTlsServer } from "./oidc-server.ts";

/** A JSON object. */
export type Json = Record<string, unknown>;

/** A request to the provider. `elsewhere` is any other address. */
export type Endpoint = "discovery" | "authorize" | "keys" | "token" | "userinfo" | "elsewhere";

/** A fault that replaces an endpoint's right answer. */
export type Fault =
	| {
			readonly does: "answer";
			readonly status: number;
			readonly body?: string;
			readonly location?: string;
			readonly type?: string;
	  }
	/** No answer; the connection ends; the right answer, but one byte every 200 ms; an endless answer; a broken body. */
	| { readonly does: "hang" | "drop" | "drip" | "flood" | "garble" };

/** A lie that replaces the truth. */
export interface Lie {
	readonly metadata?: (truth: Json) => Json;
	readonly keys?: (truth: Json[]) => unknown;
	readonly header?: (truth: Json) => Json;
	readonly claims?: (truth: Json) => Json;
	/** Signs an id_token instead of the provider's key. */
	readonly sign?: (signed: string) => Buffer;
	/** Takes its client's secret from the form instead of the header. */
	readonly takes_form?: boolean;
	/** Changes the answer to a code. */
	readonly token?: (truth: Json) => unknown;
	readonly userinfo?: (truth: Json) => unknown;
	/** Changes the parameters with which browsers are sent back. */
	readonly callback?: (truth: Record<string, string>) => Record<string, string>;
	readonly faults?: Readonly<Partial<Record<Endpoint, Fault>>>;
}

/** An OpenID Connect provider on loopback that logs in everybody as `mallory`, and lies on demand. */
export interface FakeProvider extends OidcPeer {
	/** All requests, in order. */
	readonly asked: Endpoint[];
	lie: Lie;
	stop(): Promise<void>;
}

/** The data of a code until it is used. */
interface Login {
	readonly nonce: string;
	readonly challenge: string;
	readonly redirect_uri: string;
}

const PATHS: Readonly<Record<string, Endpoint>> = {
	"/.well-known/openid-configuration": "discovery",
	"/authorize": "authorize",
	"/keys": "keys",
	"/token": "token",
	"/userinfo": "userinfo",
};

/** Makes a key pair for ES256, with the public one as it appears among a provider's keys. */
export function newSigningKey(kid: string): { key: KeyObject; jwk: Json } {
	const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	return { key: privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" } };
}

/** Returns a function that signs with ES256. */
export function signWith(key: KeyObject): (signed: string) => Buffer {
	return (signed) => sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
}

/** Starts a provider on a free port. It tells the truth until `lie` is set. */
export async function startFakeProvider(lie: Lie = {}): Promise<FakeProvider> {
	const { origin, ca, answer, stop } = await startTlsServer();
	const peer: FakeProvider = {
		issuer: origin,
		client_id: "svc",
		client_secret: randomBytes(24).toString("base64url"),
		ca_cert: ca,
		asked: [],
		lie,
		stop,
	};
	const { key, jwk } = newSigningKey("first");
	const logins = new Map<string, Login>();
	const truths: Record<Endpoint, (request: IncomingMessage, response: ServerResponse) => unknown> = {
		discovery: () => override(peer.lie.metadata, metadataOf(peer.issuer)),
		authorize: (request, response) => authorize(peer, logins, request, response),
		keys: () => ({ keys: override(peer.lie.keys, [jwk]) }),
		token: (request, response) => redeem(peer, logins, key, request, response),
		userinfo: () => override(peer.lie.userinfo, { sub: "mallory", email: "mallory@example.com" }),
		elsewhere: () => ({}),
	};
	answer(async (request, response) => {
		const endpoint = PATHS[new URL(request.url ?? "", peer.issuer).pathname] ?? "elsewhere";
		peer.asked.push(endpoint);
		const { [endpoint]: fault } = peer.lie.faults ?? {};
		if (fault !== undefined && fault.does !== "drip") return misbehave(fault, response);
		const body = JSON.stringify(await truths[endpoint](request, response));
		response.setHeader("content-type", "application/json");
		await (fault === undefined ? response.end(body) : drip(response, body));
	});
	return peer;
}

function override<T, R = T>(lie: ((truth: T) => R) | undefined, truth: T): T | R {
	return lie === undefined ? truth : lie(truth);
}

function metadataOf(issuer: string): Json {
	return {
		issuer,
		authorization_endpoint: `${issuer}/authorize`,
		token_endpoint: `${issuer}/token`,
		jwks_uri: `${issuer}/keys`,
		userinfo_endpoint: `${issuer}/userinfo`,
		response_types_supported: ["code"],
		id_token_signing_alg_values_supported: ["ES256", "RS256", "HS256", "none"],
		authorization_response_iss_parameter_supported: true,
	};
}

function authorize(
	peer: FakeProvider,
	logins: Map<string, Login>,
	request: IncomingMessage,
	response: ServerResponse,
): void {
	const asked = new URL(request.url ?? "", peer.issuer).searchParams;
	const parameter = (name: string) => asked.get(name) ?? "";
	const code = randomBytes(16).toString("hex");
	const redirect_uri = parameter("redirect_uri");
	logins.set(code, { nonce: parameter("nonce"), challenge: parameter("code_challenge"), redirect_uri });
	const back = override(peer.lie.callback, { code, state: parameter("state"), iss: peer.issuer });
	response.statusCode = 302;
	response.setHeader("location", `${redirect_uri}?${new URLSearchParams(back)}`);
}

/** Accepts every code once, with its verifier, address and secret. */
async function redeem(
	peer: FakeProvider,
	logins: Map<string, Login>,
	key: KeyObject,
	request: IncomingMessage,
	response: ServerResponse,
): Promise<unknown> {
	const form = new URLSearchParams(await text(request));
	const login = logins.get(form.get("code") ?? "");
	logins.delete(form.get("code") ?? "");
	const digest = createHash("sha256").update(form.get("code_verifier") ?? "");
	const [, credential = ""] = request.headers.authorization?.split(" ") ?? [];
	const [, basic = ""] = Buffer.from(credential, "base64").toString().split(":");
	const isSecret = (peer.lie.takes_form ? form.get("client_secret") : decodeURIComponent(basic)) === peer.client_secret;
	if (!isSecret || login?.challenge !== digest.digest("base64url") || login.redirect_uri !== form.get("redirect_uri")) {
		response.statusCode = isSecret ? 400 : 401;
		return { error: isSecret ? "invalid_grant" : "invalid_client", error_description: "<script>alert(1)</script>" };
	}
	const access_token = randomBytes(16).toString("hex");
	const id_token = idTokenOf(peer, login.nonce, access_token, key);
	return override(peer.lie.token, { access_token, token_type: "Bearer", expires_in: 60, id_token });
}

function idTokenOf(peer: FakeProvider, nonce: string, access_token: string, key: KeyObject): string {
	const iat = Math.floor(Date.now() / 1000);
	const claims = {
		iss: peer.issuer,
		sub: "mallory",
		aud: peer.client_id,
		iat,
		exp: iat + 60,
		nonce,
		at_hash: createHash("sha256").update(access_token).digest().subarray(0, 16).toString("base64url"),
		email: "mallory@example.com",
		name: "Mallory",
	};
	const parts = [
		override(peer.lie.header, { alg: "ES256", typ: "JWT", kid: "first" }),
		override(peer.lie.claims, claims),
	].map((json) => Buffer.from(JSON.stringify(json)).toString("base64url"));
	const signed = parts.join(".");
	return `${signed}.${(peer.lie.sign ?? signWith(key))(signed).toString("base64url")}`;
}

function misbehave(fault: Fault, response: ServerResponse): void {
	if (fault.does === "drop") response.destroy();
	if (fault.does === "flood") flood(response);
	// In one piece, so that the reader finds the broken body in the turn in which the answer begins.
	if (fault.does === "garble") response.socket?.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n");
	if (fault.does !== "answer") return;
	const { status, body = "", location, type = "application/json" } = fault;
	response.writeHead(status, { "content-type": type, ...(location && { location }) });
	response.end(body);
}

/** Writes blanks, which may precede JSON, for as long as the client accepts them. */
function flood(response: ServerResponse): void {
	response.setHeader("content-type", "application/json");
	const blanks = Buffer.alloc(65_536, " ");
	const more = () => {
		while (!response.destroyed && response.write(blanks));
	};
	response.on("drain", more);
	more();
}

async function drip(response: ServerResponse, body: string): Promise<void> {
	for (const character of body) {
		if (response.destroyed) return;
		response.write(character);
		await setTimeout(200);
	}
	response.end();
}
