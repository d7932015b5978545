import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../../failure.ts";
import { text } from "../answer.ts";
import { type Client, send } from "../client.ts";
import type { MachineName } from "./machine-name.ts";

/** A token of a machine. */
export interface MachineToken {
	readonly token: string;
	/** Unix seconds. */
	readonly expires_at: number;
}

/** Milliseconds before a JWT is sent again. Meanwhile the server may fetch an issuer's new keys, which no answer reveals. */
const AGAIN_MS = 2000;

/**
 * Exchanges a JWT for a token of the machine. It tries twice, because the server may not know its issuer's new keys yet. Design: §15
 * @param client a client without a token
 * @param audience asked for or expected, to explain a refusal
 * @throws Failure denied when no trust of the machine accepts this JWT. The server gives no reason, so the hint says what the JWT contains
 */
export async function exchangeJwt(
	client: Client,
	{ realm, name }: MachineName,
	jwt: string,
	audience: string,
): Promise<MachineToken> {
	const call = { method: "POST", path: "auth/jwt", body: { realm, machine: name, jwt } } as const;
	const show = () => send({ ...client, token: undefined }, call);
	const isRefused = (error: unknown): error is Failure => error instanceof Failure && error.status === 401;
	const answer = await show()
		.catch(async (error: unknown) => {
			if (!isRefused(error) || reasonIn(jwt, audience) !== undefined) throw error;
			await sleep(AGAIN_MS);
			return show();
		})
		.catch((error: unknown) => {
			if (isRefused(error)) throw refused(`${realm}/${name}`, jwt, audience, error);
			throw error instanceof Failure && error.status === 404 ? unknown(client.address, error) : error;
		});
	return { token: text(answer, "token"), expires_at: instantIn(answer.expires_at) };
}

function instantIn(value: unknown): number {
	const seconds = typeof value === "number" ? value : Date.parse(String(value)) / 1000;
	if (Number.isFinite(seconds)) return seconds;
	throw new Failure("unreachable", "the answer holds no expires_at as this client knows it", {
		code: "unexpected_answer",
	});
}

function refused(machine: string, jwt: string, audience: string, cause: Failure): Failure {
	const { code, status } = cause;
	return new Failure("denied", `the server gives no token of ${machine} for this JWT`, {
		...{ code, status, cause },
		hint:
			reasonIn(jwt, audience) ??
			"no trust of the machine has its issuer, audience and claims; the server's log has the reason",
	});
}

/** A server that has the endpoint never sends this answer, whether the machine exists or not. */
function unknown(address: string, cause: Failure): Failure {
	const { code, status } = cause;
	return new Failure("notFound", `the server at ${address} exchanges no JWTs for tokens of machines`, {
		...{ code, status, cause },
		hint: "its version has no machine accounts: set SVC_TOKEN or SVC_TOKEN_FILE",
	});
}

/** Describes the reason that the JWT itself shows, without any of its content. */
function reasonIn(jwt: string, audience: string): string | undefined {
	const claims = claimsOf(jwt);
	if (claims === undefined) return "what was given is no JWT: those are three parts in Base64, with dots between them";
	const { aud, exp } = claims;
	if (typeof exp === "number" && exp * 1000 < Date.now())
		return "the JWT has ended: its file must be written again in time (a subPath mount never is), or the job runs longer than its JWT is valid";
	const audiences = [aud].flat();
	if (audiences.length > 1) return "the JWT has more than one audience, which the server does not take";
	if (audiences[0] !== audience)
		return `the JWT is not for the audience ${audience}: its issuer must name that, or SVC_AUDIENCE the one that the trust has`;
	return undefined;
}

function claimsOf(jwt: string): { readonly aud?: unknown; readonly exp?: unknown } | undefined {
	try {
		const claims = JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString("utf8"));
		return typeof claims === "object" && claims !== null ? claims : undefined;
	} catch {
		return undefined;
	}
}
