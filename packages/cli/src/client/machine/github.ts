import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../../failure.ts";
import { isLoopback } from "../address.ts";
import { tlsOptions } from "../certificate.ts";

/** Address and token with which a job of GitHub Actions asks for a JWT. */
export interface GithubRequest {
	/** ACTIONS_ID_TOKEN_REQUEST_URL. */
	readonly url: string;
	/** ACTIONS_ID_TOKEN_REQUEST_TOKEN, which is valid for the job. */
	readonly token: string;
}

/** Milliseconds for one request, and before each repetition. */
const TIMEOUT_MS = 10_000;
const PAUSES_MS: readonly number[] = [250, 1000];
/** Most bytes of an answer: a JWT of 16 KiB and its frame. */
const MAX_BYTES = 64 * 1024;

/**
 * Asks GitHub for a JWT of the running job. Follows no redirect, because the job's own token would go along. Asks again when GitHub is
 * in trouble.
 * @throws Failure when GitHub refuses, stays in trouble, or answers no JWT
 */
export async function requestGithubJwt(request: GithubRequest, audience: string): Promise<string> {
	const url = addressFor(request.url, audience);
	for (const pause_ms of [...PAUSES_MS, undefined]) {
		const { status, body } = await ask(url, request.token).catch(() => ({ status: 0, body: "" }));
		if (status === 200) return valueIn(body);
		if (status !== 0 && status !== 429 && status < 500) throw refused(status);
		if (pause_ms === undefined) break;
		await sleep(pause_ms);
	}
	throw new Failure("unreachable", `GitHub gave no JWT, asked ${PAUSES_MS.length + 1} times`, {
		hint: "run the job again; githubstatus.com says whether Actions works",
	});
}

function addressFor(text: string, audience: string): URL {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	if (url === undefined || (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url))))
		throw new Failure("usage", "ACTIONS_ID_TOKEN_REQUEST_URL is not an address that begins with https://");
	url.searchParams.set("audience", audience);
	return url;
}

async function ask(url: URL, token: string): Promise<{ status: number; body: string }> {
	const outgoing = (url.protocol === "https:" ? https : http).request(url, {
		headers: { accept: "application/json", "user-agent": "svc-cli", authorization: `Bearer ${token}` },
		signal: AbortSignal.timeout(TIMEOUT_MS),
		...(url.protocol === "https:" ? tlsOptions(undefined) : {}),
	});
	outgoing.end();
	const [response] = (await once(outgoing, "response")) as [http.IncomingMessage];
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of response as AsyncIterable<Buffer>) {
		bytes += chunk.length;
		if (bytes > MAX_BYTES) throw new Error("too long");
		chunks.push(chunk);
	}
	return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") };
}

function refused(status: number): Failure {
	if (status >= 300 && status < 400)
		return new Failure("denied", "GitHub's address for JWTs redirects, and the job's token is sent nowhere else");
	return new Failure("denied", `GitHub gives this job no JWT (status ${status})`, {
		hint: "the job needs `permissions: id-token: write`; a job that has ended, or a pull request from a fork, gets none",
	});
}

function valueIn(body: string): string {
	try {
		const { value } = JSON.parse(body);
		if (typeof value === "string") return value;
	} catch {
		// As any other answer without a JWT, and without quoting it.
	}
	throw new Failure("unreachable", "GitHub's answer holds no JWT");
}
