import type { Target } from "./target.ts";

/** Targets by file. They are loaded on demand: the search instruments their imports. */
const FILES = {
	json: ["json"],
	http: ["query", "forwarded", "cookies"],
	head: ["head"],
	forms: ["form", "sessionCookie"],
	jwt: ["jwt", "pointer"],
	keys: ["discovery", "keySet"],
	credentials: ["bearer", "cursor", "portable", "secretKey"],
	codes: ["code"],
	"sign-on": ["saml", "distinguishedName", "filter"],
	directory: ["directory"],
	oidc: ["providerMetadata", "providerKeys", "tokenResponse", "userinfo"],
	engines: ["lines", "response", "descriptor", "duration"],
	certificates: ["der", "pem", "signedCertificate"],
	documents: ["toml", "dotenv", "manifest", "kubeconfig"],
} as const;

/** Every target's name and file. */
export const TARGETS: readonly { name: string; file: string }[] = Object.entries(FILES).flatMap(([file, names]) =>
	names.map((name) => ({ name, file })),
);

/** Loads a target. */
export async function loadTarget(name: string): Promise<Target> {
	const file = TARGETS.find((one) => one.name === name)?.file;
	if (file === undefined)
		throw new Error(`there is no such target; there are ${TARGETS.map((one) => one.name).join(", ")}`);
	const module: Record<string, Target> = await import(`./targets/${file}.ts`);
	const target = module[name];
	if (target === undefined) throw new Error(`${file}.ts does not export ${name}`);
	return target;
}
