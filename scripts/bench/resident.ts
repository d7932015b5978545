import { type Ask, ask, exchange } from "./exchange.ts";

/** Password of every account in a measurement. Only loopback ever sees these accounts. */
const PASSWORD = "a password of the benchmark";

/** A user with an API token, a realm and a secret in it. */
export interface Resident {
	readonly token: string;
	/** Slug of the realm. */
	readonly slug: string;
	/** Key of the secret, in the default environment. */
	readonly key: string;
}

/** Registers an account. */
export async function register(url: string, email: string): Promise<void> {
	await ask(url, { method: "POST", path: "/api/v1/auth/register", body: { email, password: PASSWORD } });
}

/** Signs in. @param from loopback address of the client. Returns the session's token. */
export async function login(url: string, email: string, from?: string): Promise<string> {
	const body = { email, password: PASSWORD };
	const request: Ask = { method: "POST", path: "/api/v1/auth/login", body };
	const { token } = await ask<{ token: string }>(url, from === undefined ? request : { ...request, from });
	return token;
}

/** Signs in to the console. Returns the session's cookie. @throws Error when it is refused */
export async function enterConsole(url: string, email: string): Promise<string> {
	const path = "/console/sign-in";
	const headers = { "sec-fetch-site": "same-origin", origin: url };
	const answer = await exchange(url, { method: "POST", path, form: { email, password: PASSWORD }, headers });
	const [, cookie] = answer.headers.find(([name]) => name.toLowerCase() === "set-cookie") ?? [];
	if (cookie === undefined) throw new Error(`POST ${path} is answered with ${answer.status} and no cookie`);
	return cookie.split(";", 1).join();
}

/** Makes the account, its API token with every scope, a realm and a secret, as a user would. */
export async function settle(url: string): Promise<Resident> {
	const email = "bench@example.test";
	const slug = "bench";
	const key = "DATABASE_URL";
	await register(url, email);
	const session = await login(url, email);
	const post = <T>(path: string, body: object): Promise<T> =>
		ask<T>(url, { method: "POST", path, token: session, body });
	const { token } = await post<{ token: string }>("/api/v1/auth/tokens", {
		name: "bench",
		scopes: "read,write,delete",
	});
	await post("/api/v1/realms", { slug, name: "Benchmark" });
	await post(`/api/v1/realms/${slug}/secrets`, { key, value: "postgres://app:f3Jq8@db.internal:5432/app" });
	return { token, slug, key };
}
