import { answerQuestions } from "../../threads/answer-questions.ts";
import { type Asserted, ProviderUnavailable, type RefusalReason, SsoRefusal } from "../model.ts";
import type { LdapSettings } from "../settings.ts";
import { type Credentials, login, tryOut } from "./login.ts";

/** A question to the thread: a login, or without credentials a test of the settings. */
export interface LdapQuestion {
	settings: LdapSettings;
	credentials: Credentials | undefined;
}

/** The person, undefined without credentials; otherwise the reason why not. */
export type LdapAnswer = { asserted: Asserted | undefined } | { refused: RefusalReason } | { unavailable: string };

async function answer({ settings, credentials }: LdapQuestion): Promise<LdapAnswer> {
	try {
		if (credentials !== undefined) return { asserted: await login(settings, credentials) };
		await tryOut(settings);
		return { asserted: undefined };
	} catch (error) {
		if (error instanceof SsoRefusal) return { refused: error.reason };
		if (error instanceof ProviderUnavailable) return { unavailable: error.message };
		throw error;
	}
}

// Any other error ends the thread, and the asker learns of that.
answerQuestions(answer);
