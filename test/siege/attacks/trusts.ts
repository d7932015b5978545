import { generateKeyPairSync } from "node:crypto";
import { part } from "../../peers/issuer.ts";
import { ask, keepAsking, posting, signedIn } from "../asking.ts";
import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";

/** As many trusts as a machine may have, and keys as a trust may. */
const [TRUSTS_OF_MACHINE, KEYS] = [20, 20];

const MACHINE = "trusting";
const ISSUER = "https://id.example.com";
const AUDIENCE = "https://svc.example.com";

/** The slowest keys to read that a trust takes. */
function slowKeys(): object[] {
	return Array.from({ length: KEYS }, (_, at) => {
		const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-521" });
		return { ...publicKey.export({ format: "jwk" }), kid: `key-${at}`, alg: "ES512" };
	});
}

async function prepare(target: Target): Promise<void> {
	const machine = `/api/v1/realms/${target.slug}/machines/${MACHINE}`;
	const put = (path: string, body: object) =>
		ask(target, { ...posting(path, body, signedIn({ token: target.session })), method: "PUT" });
	await put(machine, { role: "viewer" });
	const trust = { issuer: ISSUER, audience: AUDIENCE, claims: { sub: "deploy" }, jwks: { keys: slowKeys() } };
	for (let at = 0; at < TRUSTS_OF_MACHINE; at++) await put(`${machine}/trusts/trust-${at}`, trust);
}

/** JWTs with an invalid signature, for a machine with as many trusts and keys as it may have. */
export const TRUSTS: Attack = {
	name: "jwt",
	title:
		"JWTs with an invalid signature, for a machine of 20 trusts with 20 keys of P-521 each, 32 connections from 16 sources",
	prepare,
	run(target, counts, over) {
		const header = part({ alg: "ES512", typ: "JWT", kid: `key-${KEYS - 1}` });
		const signature = part(Buffer.alloc(132, 1));
		let asked = 0;
		const next = () => {
			const exp = Math.floor(Date.now() / 1000) + 300;
			const claims = part({ iss: ISSUER, aud: AUDIENCE, sub: "deploy", exp, jti: String(asked++) });
			const jwt = `${header}.${claims}.${signature}`;
			return posting("/api/v1/auth/jwt", { realm: target.slug, machine: MACHINE, jwt });
		};
		const askers = { connections: scaled(target, 32), source: (at: number) => sourceOf(target, at % 16), next };
		return keepAsking(target, askers, counts, over);
	},
};
