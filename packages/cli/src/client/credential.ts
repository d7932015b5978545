import { type Io, setting } from "../io/io.ts";
import { findGivenToken, type GivenToken } from "./given-token.ts";
import { parseMachine } from "./machine/machine-name.ts";
import type { MachineLogin } from "./machine/machine-tokens.ts";
import type { SavedServer } from "./session.ts";

/** Proof that a command shows the server: a token of the environment, a machine's, or the session of `svc login`. */
export type Credential =
	| ({ readonly kind: "given" } & GivenToken)
	| ({ readonly kind: "machine" } & MachineLogin)
	| { readonly kind: "session"; readonly token: string; readonly user: string | undefined };

/**
 * Finds the credential for a server: a token that the environment gives, else SVC_MACHINE, else the latest login. It asks nobody. Design: §15
 * @throws Failure usage when the environment gives something that cannot be one; nothing else is tried then
 */
export async function findCredential(io: Io, saved: SavedServer): Promise<Credential | undefined> {
	const given = await findGivenToken(io);
	if (given !== undefined) return { kind: "given", ...given };
	const named = setting(io, "SVC_MACHINE");
	const machine = named ?? saved.machine;
	if (machine !== undefined) {
		const kept = Object.hasOwn(saved.machines ?? {}, machine) ? saved.machines?.[machine] : undefined;
		return { kind: "machine", machine: parseMachine(machine, "SVC_MACHINE"), isSaved: named === undefined, kept };
	}
	if (saved.token === undefined) return undefined;
	return { kind: "session", token: saved.token, user: saved.user?.id };
}
