import { type FakeAnswer, page, refusal, startFake } from "./fake-server.ts";

/** Behaviour of a service of machines that is not the usual one. */
export interface MachineServiceOptions {
	/** Seconds for which a token is valid. */
	readonly life_s?: number;
	/** Answers an exchange in place of a token. */
	refuse?(exchanges: number): FakeAnswer | undefined;
	/** Answers GitHub's endpoint in place of a JWT. */
	github?(asked: number): FakeAnswer | undefined;
	/** Answers any other request, which came with a valid token. */
	serve?(method: string, url: string): FakeAnswer;
}

/** A text in the shape of a JWT, with these claims. */
export function jwtOf(claims: object): string {
	const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
	return `${part({ alg: "RS256" })}.${part(claims)}.c2lnbmF0dXJl`;
}

/** Starts a fake server that exchanges JWTs for tokens of machines, and a fake of GitHub's endpoint next to it, at `/jwt?api=1`. */
export async function startMachineService(options: MachineServiceOptions = {}) {
	const state = { exchanges: 0, asked: 0, valid: new Set<string>() };
	const server = await startFake(
		(request) => {
			const { method, url, headers, body } = request;
			if (url.startsWith("/jwt")) {
				const audience = new URL(url, "http://localhost").searchParams.get("audience");
				state.asked++;
				return options.github?.(state.asked) ?? { body: { value: jwtOf({ aud: audience, n: state.asked }) } };
			}
			if (url === "/api/v1/auth/jwt") {
				state.exchanges++;
				const refused = options.refuse?.(state.exchanges);
				if (refused !== undefined) return refused;
				const token = `svc_machine${state.exchanges}_${(body as { machine: string }).machine}`;
				state.valid.add(`Bearer ${token}`);
				return { body: { token, expires_at: Math.floor(Date.now() / 1000) + (options.life_s ?? 3600) } };
			}
			if (!state.valid.has(headers.authorization ?? ""))
				return refusal(401, "unauthorized", "invalid or expired token");
			return options.serve?.(method, url) ?? page("realms", []);
		},
		{ plain: true },
	);
	const github = {
		GITHUB_ACTIONS: "true",
		ACTIONS_ID_TOKEN_REQUEST_URL: `${server.address}/jwt?api=1`,
		ACTIONS_ID_TOKEN_REQUEST_TOKEN: "job-token",
	};
	/** The exchanges so far. */
	const sent = () => server.requests.filter(({ url }) => url === "/api/v1/auth/jwt").map(({ body }) => body);
	/** The tokens of all other requests to the service. */
	const used = () =>
		server.requests
			.filter(({ url }) => url.startsWith("/api/") && url !== "/api/v1/auth/jwt")
			.map(({ headers }) => headers.authorization?.replace("Bearer ", ""));
	const env = { SVC_ADDRESS: server.address, SVC_MACHINE: "shop/deploy" };
	return Object.assign(server, { env, github, sent, used, revokeAll: () => state.valid.clear() });
}
