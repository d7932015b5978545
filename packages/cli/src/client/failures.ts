import { Failure, type FailureKind } from "../failure.ts";
import { type Answer, isAnswer } from "./answer.ts";
import { CERTIFICATE_DIFFERS, fetchCertificate, fingerprintOf } from "./certificate.ts";
import type { Call, Client } from "./client.ts";

/** Failure of a call that the server refused. */
export class Refusal extends Failure {
	readonly client: Client;
	readonly call: Call;

	constructor(kind: FailureKind, message: string, { client, call, ...details }: RefusalDetails) {
		super(kind, message, details);
		this.client = client;
		this.call = call;
	}
}

interface RefusalDetails {
	readonly client: Client;
	readonly call: Call;
	readonly code: string;
	readonly status: number;
	readonly hint: string | undefined;
}

/** An error answer. */
interface ErrorAnswer {
	readonly status: number;
	/** Value of the header Retry-After. */
	readonly retryAfter: string | undefined;
	/** The error object, if any. */
	readonly answer: Answer | undefined;
}

/** Turns a server's error answer into a failure: its own message, and the next command to try. */
export function explainRefusal(client: Client, call: Call, { status, retryAfter, answer }: ErrorAnswer): Refusal {
	const error = isAnswer(answer?.error) ? answer.error : {};
	const message =
		typeof error.message === "string" && error.message !== ""
			? error.message
			: `the server answered with status ${status}`;
	const code = typeof error.code === "string" ? error.code : "unexpected_answer";
	// The message may itself say what to do, and after a wrong password there is nothing to suggest.
	const suggested =
		code === "invalid_credentials" || /`svc |(?:try|start it) again/.test(message)
			? undefined
			: (hintForCode(code, call) ?? hintFor(client, call, status, retryAfter));
	const refused = client.renew === undefined ? REFUSED_TOKEN : REFUSED_MACHINE;
	const hint = status === 401 && client.token?.startsWith(API_TOKEN) ? refused : suggested;
	return new Refusal(kindOf(status), message, { client, call, code, status, hint });
}

/** Prefix of API tokens, which the environment gives: a saved session never has it. */
const API_TOKEN = "svc_";
const REFUSED_TOKEN =
	"the token of SVC_TOKEN, SVC_TOKEN_FILE or systemd is expired, revoked or mistyped: give another one, or none to use the session of `svc login`";
const REFUSED_MACHINE = "the machine's new token is refused, too: it was just changed or deleted; try again";

function kindOf(status: number): FailureKind {
	if (status === 401 || status === 403) return "denied";
	if (status === 404) return "notFound";
	return status >= 500 || status < 400 ? "unreachable" : "failed";
}

function hintForCode(code: string, { path, query }: Call): string | undefined {
	if (code === "conflict" && query?.if === "healthy")
		return "the earlier configuration stays in effect; --force stores this one anyway";
	if (code === "engine_unavailable")
		return /^engines\/[^/]+\/ping$/.test(path)
			? "`svc engine show` shows the configuration, `svc engine set` changes it"
			: "the instance's administrators can look: `svc engine ping`, `svc engine show`";
	if (code === "provider_unavailable") return "the instance's administrators can look: `svc sso test`, `svc sso show`";
	if (code === "database_altered")
		return "where the server runs, look at it with `svc adopt --again`, or restore a backup: `svc restore --help`";
	if (code === "lease_limit_reached") return "`svc lease list` shows the leases, `svc lease revoke` ends one";
	return undefined;
}

function hintFor(client: Client, { path }: Call, status: number, retryAfter: string | undefined): string | undefined {
	if (status === 401 && client.token !== undefined)
		return "the token is not valid, or not any more: `svc login`, or a new SVC_TOKEN";
	if (status === 403 && path === "leases")
		return "--realm, SVC_REALM or .svc.toml names a realm: only the instance's administrators see the leases of all realms";
	if (status === 404 && /^(realms\/[^/]+\/)?engines\//.test(path))
		return "`svc engine list` shows the engines, `svc realm list` the realms";
	if (status === 404 && /^realms\/[^/]+\/secrets\//.test(path))
		return "`svc secret list` shows the keys, `svc realm list` the realms";
	if (status === 404 && /^realms\/[^/]+\/policy\//.test(path))
		return "`svc binding list` shows who has a role, `svc realm list` the realms";
	if (status === 404 && path.startsWith("realms/")) return "`svc realm list` shows the realms that you can use";
	if (status === 404 && path.startsWith("auth/providers/")) return "`svc sso list` shows the providers";
	if (status === 429)
		return /^\d{1,9}$/.test(retryAfter ?? "") ? `try again in ${retryAfter} seconds` : "try again later";
	if (status >= 500) return "`svc health` shows what is wrong with the server; its log says more";
	return undefined;
}

/** Causes of failed connections, over which nothing was sent. */
const NOT_CONNECTED: Readonly<Record<string, string>> = {
	ECONNREFUSED: "nothing listens there",
	ENOTFOUND: "its host name is not known",
	EAI_AGAIN: "its host name cannot be looked up now",
	EHOSTUNREACH: "there is no route to it",
	ENETUNREACH: "there is no route to it",
	EPROTO: "it does not speak https",
};

/** Destination of a request. */
type Destination = Pick<Client, "address" | "trust" | "timeoutMs">;

/** Turns a broken connection into a failure. For a write that may have arrived, the message says that its outcome is unknown. */
export async function explainConnection(
	destination: Destination,
	method: Call["method"],
	error: unknown,
): Promise<Failure> {
	const { address, timeoutMs } = destination;
	const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
	if (isAboutCertificate(code)) return explainCertificate(destination, code);
	const unsure = method !== "GET" && !Object.hasOwn(NOT_CONNECTED, code);
	const reason = NOT_CONNECTED[code] ?? describeBreak(code, error, timeoutMs);
	return new Failure(
		"unreachable",
		`cannot reach ${address}: ${reason}${unsure ? "; the change may or may not have been made" : ""}`,
		{
			hint: hintForBreak(address, code),
			cause: error,
		},
	);
}

function hintForBreak(address: string, code: string): string {
	if (code === "EPROTO") return "a server without TLS is reached with http://, on its own machine only";
	if (code === "ECONNRESET" && address.startsWith("http:")) return "a server with TLS is reached with https://";
	return "is the server running? `svc server` starts one, --address or SVC_ADDRESS names another";
}

function describeBreak(code: string, error: unknown, timeoutMs: number): string {
	const timedOut =
		code === "ABORT_ERR" || code === "ETIMEDOUT" || (error instanceof Error && error.name === "TimeoutError");
	if (timedOut) return `no answer within ${timeoutMs / 1000} s`;
	if (code === "ECONNRESET") return "the connection was closed without an answer";
	return code.startsWith("HPE_") ? "it does not speak http" : `the connection failed (${code})`;
}

// OpenSSL's verification codes as Node spells them, such as DEPTH_ZERO_SELF_SIGNED_CERT or UNABLE_TO_VERIFY_LEAF_SIGNATURE.
function isAboutCertificate(code: string): boolean {
	return (
		code === CERTIFICATE_DIFFERS ||
		code === "ERR_TLS_CERT_ALTNAME_INVALID" ||
		/^(?!ERR_).*(CERT|ISSUER|SIGNATURE|_CA$|CRL)/.test(code)
	);
}

async function explainCertificate({ address, trust }: Destination, reason: string): Promise<Failure> {
	const presented = await fetchCertificate(new URL(address)).catch(() => undefined);
	const now = presented?.fingerprint ?? "unknown";
	if (trust === undefined) {
		return new Failure(
			"unreachable",
			`the certificate of ${address} is not trusted yet; its SHA-256 fingerprint is ${now}`,
			{
				code: "certificate_untrusted",
				hint: "compare it with what the server printed when it started, then `svc login`; or give --cacert or --fingerprint",
			},
		);
	}
	if (trust.kind === "authority" || now === fingerprintOf(trust.certificate)) {
		return new Failure("unreachable", `the certificate of ${address} is not accepted: ${reason}`, {
			code: "certificate_invalid",
		});
	}
	return certificateChanged(address, fingerprintOf(trust.certificate), now);
}

/** The failure for a server whose certificate is not the trusted one. */
export function certificateChanged(address: string, trusted: string, presented: string): Failure {
	return new Failure(
		"unreachable",
		`the certificate of ${address} is not the trusted one: the server was set up again, or somebody is between you and it; nothing was sent; trusted is ${trusted}, presented is ${presented}`,
		{
			code: "certificate_changed",
			hint: "ask the server's administrator for its fingerprint; if it is the presented one: `svc login --fingerprint` with it",
		},
	);
}
