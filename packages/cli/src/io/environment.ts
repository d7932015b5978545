import type { Io } from "./io.ts";

/** Settings of svc that are no secrets: a program that calls svc itself continues with them. */
const KEPT = new Set(["SVC_ADDRESS", "SVC_REALM", "SVC_ENV", "SVC_CACERT", "SVC_FINGERPRINT"]);

/**
 * The environment of a program: this process's own without svc's variables, and the given ones. SVC_TOKEN, SVC_MASTER_KEY and all others that
 * begin like them stay here; so does the folder of compiled code that `bin.mjs` passes to Node.
 */
export function environmentFor(
	io: Io,
	variables: readonly { readonly name: string; readonly value: string }[],
): Record<string, string> {
	const inherited = Object.entries(io.env).filter(
		(entry): entry is [string, string] =>
			entry[1] !== undefined && (KEPT.has(entry[0]) || !/^SVC_|^NODE_COMPILE_CACHE$/.test(entry[0])),
	);
	return Object.fromEntries([...inherited, ...variables.map(({ name, value }) => [name, value] as const)]);
}
