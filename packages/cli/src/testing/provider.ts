import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { type FakeAnswer, refusal, startService } from "./fake-server.ts";

/** Answer to a login. */
export const LOGIN = {
	token: "session-token",
	expires_at: 2_000_000_000,
	user: { id: "u1", email: "ada@example.com", name: "Ada" },
};

const CODE = "Code-_".padEnd(43, "x");
const PROVIDERS = [
	{ name: "corp", type: "oidc", display_name: "Corp" },
	{ name: "old", type: "saml", display_name: "Old" },
	{ name: "directory", type: "ldap", display_name: "Directory" },
];

/** Starts a fake server with a provider of each type: `corp`, `old` and `directory`. It answers the right proof with `end`. */
export function startProviders(end: FakeAnswer = { body: LOGIN }, has_password = false, factors: object[] = []) {
	const challenges: string[] = [];
	/** Acts as a person who reads the address in the terminal and signs in immediately. */
	const heard = (text: string): void => {
		const [address] = /^http\S+$/m.exec(text) ?? [];
		if (address === undefined) return;
		const query = new URL(address).searchParams;
		challenges.push(query.get("cli_challenge") ?? "");
		void fetch(`http://127.0.0.1:${query.get("cli_port")}/?code=${CODE}`);
	};
	return startService(({ url, body }) => {
		if (url === "/api/v1/auth/providers") return { body: { providers: PROVIDERS } };
		if (url === "/api/v1/auth/identities") return { body: { identities: [], has_password } };
		if (url === "/api/v1/auth/factors") return { body: { factors, recovery_codes_left: 10 } };
		if (!/^\/api\/v1\/auth\/sso\/(?:token|link)$/.test(url)) return end;
		const { code, verifier } = body as { code: string; verifier: string };
		assert.match(verifier, /^[\w-]{43}$/);
		const isRight = code === CODE && hash("sha256", verifier, "base64url") === challenges.at(-1);
		return isRight ? end : refusal(401, "unauthorized", "the login was refused: try again");
	}).then((server) => Object.assign(server, { heard }));
}
