import { type Check, ok } from "../doctor/model.ts";
import type { FactorStore } from "./model.ts";
import { passkeyHost } from "./responses.ts";

/** Hosts named in one message. */
const MAX_NAMED = 20;

/** Makes the function that finds passkeys that work no more, because the server's host is another one than theirs. Design: §16 */
export function createPasskeysCheck({
	store,
	address,
}: {
	store: { factors: Pick<FactorStore, "passkeyHosts"> };
	address(): string;
}) {
	return async (): Promise<Check[]> => {
		const name = "passkeys";
		const host = passkeyHost(address());
		const hosts = await store.factors.passkeyHosts();
		const others = hosts.filter((one) => one !== host);
		if (others.length === 0) return [ok(name, hosts.length === 0 ? "there are none" : `all are for ${host}`)];
		const more = others.length > MAX_NAMED ? ` and ${others.length - MAX_NAMED} more` : "";
		const named = `${others.slice(0, MAX_NAMED).join(", ")}${more}`;
		const message = `passkeys for ${named} do not work here: base_url has ${host === undefined ? "an IP address" : `the host ${host}`}`;
		const hint =
			"set base_url (SVC_BASE_URL) back to that host, or tell people to sign in with their password and a recovery code, and make new passkeys";
		return [{ name, status: "warning", message, hint }];
	};
}
