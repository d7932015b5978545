import { parentPort } from "node:worker_threads";
import { type Asserted, ProviderUnavailable, type RefusalReason, SsoRefusal } from "../model.ts";
import type { LdapSettings } from "../settings.ts";
import { type Credentials, login, tryOut } from "./login.ts";

/** What the thread is asked: to let somebody in, or to try the settings out when nobody is named. */
export interface LdapQuestion {
	settings: LdapSettings;
	credentials: Credentials | undefined;
}

/** Who it is; undefined when nobody was named. Else why not. */
export type LdapAnswer = { asserted: Asserted | undefined } | { refused: RefusalReason } | { trouble: string };

// Whatever else is thrown ends the thread, and whoever asked hears of that.
parentPort?.on("message", async (question: LdapQuestion) => parentPort?.postMessage(await answer(question)));

async function answer({ settings, credentials }: LdapQuestion): Promise<LdapAnswer> {
	try {
		if (credentials !== undefined) return { asserted: await login(settings, credentials) };
		await tryOut(settings);
		return { asserted: undefined };
	} catch (error) {
		if (error instanceof SsoRefusal) return { refused: error.reason };
		if (error instanceof ProviderUnavailable) return { trouble: error.trouble };
		throw error;
	}
}
