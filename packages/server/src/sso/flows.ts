import { hash } from "node:crypto";
import { dataKey, type EncryptionContext, keyIdOf, openRecord, sealRecord } from "../crypto/seal.ts";
import { deriveKeys, type KeySource, wasInUse } from "../crypto/session-keys.ts";
import type { System } from "../system.ts";
import type { OneTime } from "./model.ts";

/** The longest time in milliseconds between the beginning of a login and its end. */
const LIFETIME_MS = 10 * 60_000;
/** Logins that one browser may have under way: a later one may replace an earlier one. */
const MAX_OPEN = 16;
const MAX_COOKIE_CHARACTERS = 4096;
const SECRET_BYTES = 32;

/** A command line program, or the console, that waits for the end of a login. */
interface WaitingLogin {
	/** Address to which the browser returns, without a query: on loopback, or a path of the console. */
	address: string;
	/** base64url of the SHA-256 of the verifier that it sends at the end. */
	challenge: string;
	/** Milliseconds since 1970 at which the provider was asked to sign the person in again; undefined when one that it knows is enough. */
	since_ms?: number | undefined;
}

/** A session of the console whose owner is to sign in again. */
interface Reauthentication {
	/** Path of the console to which the browser returns, without a query. */
	address: string;
	/** Id of the session. */
	jti: string;
	/** Milliseconds since 1970 at which the owner was asked. */
	since_ms: number;
	/** The page to go on to. */
	target: string;
}

/** Whatever waits for the end of a flow. */
export type Waiting = WaitingLogin | Reauthentication;

/** Tells whether a flow is for a valid session, and opens none. */
export function isReauthentication(waiting: Waiting | null): waiting is Reauthentication {
	return waiting !== null && "jti" in waiting;
}

/** Tells whether the provider is to sign the person in again. */
export function isAskedAgain({ waiting }: Pick<Flow, "waiting">): boolean {
	return waiting?.since_ms !== undefined;
}

/** A login that a browser has begun. */
export interface Flow {
	/** Name of the provider, and the id of its settings at the beginning. */
	provider: string;
	provider_id: string;
	/** The value that the provider returns: OIDC's state, SAML's request id. */
	state: string;
	nonce: string;
	verifier: string;
	/** Milliseconds since 1970. */
	until_ms: number;
	waiting: Waiting | null;
}

/** Logins under way. The server stores none: each is sealed in a cookie, so that only the browser that began it can end it. */
export interface Flows {
	/** @returns the flow, and the Set-Cookie header that carries it */
	begin(provider: { name: string; id: string }, waiting: Waiting | null): { flow: Flow; cookie: string };
	/** This browser's unexpired flows at this provider with these settings. */
	open(cookies: string | undefined, provider: { name: string; id: string }): Flow[];
	/** The Set-Cookie header that deletes the flow in the browser. */
	clear(flow: Flow): string;
}

/**
 * Makes the keeper of flows. A login may end on another server of the database than it began: the key of the cookie is derived from those of sessions.
 * @param isSecure whether browsers reach us over HTTPS
 */
export function createFlows(
	system: Pick<System, "now" | "randomBytes">,
	source: KeySource,
	isSecure: () => boolean,
): Flows {
	const derived = deriveKeys(source, "sso flow", (bytes, id) => dataKey(Buffer.from(id, "hex"), bytes));
	const random = () => system.randomBytes(SECRET_BYTES).toString("base64url");
	const flowContext = (name: string): EncryptionContext => ({
		label: "sso.flow",
		realm_id: "",
		environment: "",
		name,
		row_id: "",
	});
	const prefix = () => (isSecure() ? "__Host-svc_sso_" : "svc_sso_");
	// The identity provider posts its answer from its own site: Lax would withhold the cookie.
	const attributes = () => `Path=/; HttpOnly${isSecure() ? "; Secure; SameSite=None" : ""}`;
	// Only a few names: otherwise a page that begins many logins would fill the browser's requests until no server accepts them.
	const nameOf = ({ state }: Flow) => `${prefix()}${(hash("sha256", state, "buffer")[0] ?? 0) % MAX_OPEN}`;

	function read(value: string, provider: string): Flow | undefined {
		const box = Buffer.from(value, "base64url");
		const known = derived.byId(keyIdOf(box)?.toString("hex") ?? "");
		if (known === undefined) return undefined;
		const bytes = openRecord(known.key, flowContext(provider), box);
		if (bytes === undefined) return undefined;
		const flow = JSON.parse(bytes.toString()) as Flow;
		return wasInUse(known.from, flow.until_ms - LIFETIME_MS) ? flow : undefined;
	}

	return {
		begin({ name, id }, waiting) {
			const flow: Flow = {
				provider: name,
				provider_id: id,
				// An XML id may not begin with a digit.
				state: `_${random()}`,
				nonce: random(),
				verifier: random(),
				until_ms: system.now().getTime() + LIFETIME_MS,
				waiting,
			};
			const sealed = sealRecord(
				derived.active(),
				flowContext(name),
				Buffer.from(JSON.stringify(flow)),
				system.randomBytes,
			);
			const cookie = `${nameOf(flow)}=${sealed.toString("base64url")}; Max-Age=${LIFETIME_MS / 1000}; ${attributes()}`;
			return { flow, cookie };
		},
		open(cookies, { name, id }) {
			const now = system.now().getTime();
			return valuesOf(cookies, prefix())
				.flatMap((value) => read(value, name) ?? [])
				.filter((flow) => flow.provider_id === id && flow.until_ms > now);
		},
		clear: (flow) => `${nameOf(flow)}=; Max-Age=0; ${attributes()}`,
	};
}

function valuesOf(cookies: string | undefined, prefix: string): string[] {
	const pairs = (cookies ?? "").split(/; */).filter((pair) => pair.startsWith(prefix));
	const values = pairs.map((pair) => pair.slice(pair.indexOf("=") + 1));
	return values.filter((value) => value.length <= MAX_COOKIE_CHARACTERS).slice(-MAX_OPEN);
}

/** Names what ends with a flow: its state, which is valid for one login. */
export function usedBy({ state, until_ms }: Pick<Flow, "state" | "until_ms">): OneTime {
	return { digest: hash("sha256", `flow ${state}`, "buffer"), until: new Date(until_ms).toISOString() };
}
