import type { KeptAuthority } from "./authority.ts";
import type { NewAuthority } from "./new-authority.ts";

/**
 * Makes a self-signed certificate authority. The code for it, pkijs above all, is loaded on the first call; in the single binary it is a script of its own.
 * @throws Error when a name is not acceptable, or the random source fails
 */
export async function createAuthority(input: NewAuthority): Promise<KeptAuthority> {
	const { makeAuthority } = await import("./new-authority.ts");
	return makeAuthority(input);
}
