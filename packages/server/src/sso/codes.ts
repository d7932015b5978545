import { hash } from "node:crypto";
import type { Keyring } from "../crypto/keyring.ts";
import { type EncryptionContext, openRecord, sealRecord } from "../crypto/seal.ts";
import type { System } from "../system.ts";
import type { Waiting } from "./flows.ts";
import type { Asserted, SsoStore } from "./model.ts";
import { openProvider, type Provider } from "./providers.ts";

/** Milliseconds for which a code is valid. */
export const CODE_MS = 60_000;

/** A finished login. */
export interface Pending {
	provider: Provider;
	asserted: Asserted;
	waiting: Waiting;
	until_ms: number;
	/** Set once an invitation has been asked for: its time does not begin again. */
	isAsked?: boolean;
}

/** A finished login as it waits: without the provider's settings. */
type Kept = Omit<Pending, "provider"> & { provider: Pick<Provider, "id" | "name"> };

/** Dependencies of keeping and taking finished logins. */
export interface CodeNeeds {
	store: { sso: Pick<SsoStore, "provider" | "keepCode" | "takeCode"> };
	keyring: Pick<Keyring, "record" | "recordFor">;
	system: Pick<System, "now" | "randomBytes">;
}

/** Keeps a finished login until its program fetches it. The store has a digest of the code, and a box that opens under this code alone. */
export async function keepLogin({ store, keyring, system }: CodeNeeds, code: string, pending: Pending): Promise<void> {
	const { id, name } = pending.provider;
	const kept: Kept = { ...pending, provider: { id, name } };
	const digest = digestOf(code);
	const bytes = Buffer.from(JSON.stringify(kept));
	const sealed = sealRecord(await keyring.record(""), contextOf(digest), bytes, system.randomBytes);
	await store.sso.keepCode({ digest, sealed, until_ms: pending.until_ms }, system.now().getTime());
}

/**
 * Returns the login that a code stands for. The code is used up in any case.
 * @param isTheirs tells whether the login waits for the bearer of the code
 * @returns undefined when there is none, it is too old, waits for another, or its provider's settings have changed
 */
export async function takeLogin(
	needs: CodeNeeds,
	code: string,
	isTheirs: (waiting: Waiting) => boolean,
): Promise<Pending | undefined> {
	const { store, keyring, system } = needs;
	const digest = digestOf(code);
	const now_ms = system.now().getTime();
	const sealed = await store.sso.takeCode(digest, now_ms);
	const key = sealed && (await keyring.recordFor("", sealed));
	const bytes = key && openRecord(key, contextOf(digest), sealed);
	if (bytes === undefined) return undefined;
	const kept = JSON.parse(bytes.toString()) as Kept;
	if (!isTheirs(kept.waiting) || now_ms >= kept.until_ms) return undefined;
	const row = await store.sso.provider(kept.provider.name);
	return row?.id === kept.provider.id ? { ...kept, provider: await openProvider(needs, row) } : undefined;
}

const digestOf = (code: string): Buffer => hash("sha256", `code ${code}`, "buffer");

function contextOf(digest: Buffer): EncryptionContext {
	return { label: "sso_code.sealed", realm_id: "", environment: "", name: "", row_id: digest.toString("hex") };
}
