import { answerQuestions } from "../../threads/answer-questions.ts";
import { type Asserted, ProviderUnavailable, type RefusalReason, SsoRefusal } from "../model.ts";
import type { OneLogin } from "./assertion.ts";
import { type Examination, identify } from "./identify.ts";
import { type ProviderSettings, readProvider } from "./provider.ts";

/** A question to the thread: whom a response is about, or, without one, what a provider's settings say. */
export interface SamlQuestion {
	settings: ProviderSettings;
	/** Milliseconds since 1970. */
	now_ms: number;
	examination: Omit<Examination, "now_ms"> | undefined;
}

/** The thread's findings. */
export interface SamlFinding {
	/** The address to which people are sent with a request. */
	sso_url: string;
	identity: (Asserted & OneLogin) | undefined;
}

/** The thread's answer. Errors lose their classes between threads. */
export type SamlAnswer = { finding: SamlFinding } | { refused: RefusalReason } | { unavailable: string };

function answer({ settings, now_ms, examination }: SamlQuestion): SamlAnswer {
	try {
		const provider = readProvider(settings, now_ms);
		const identity = examination === undefined ? undefined : identify(provider, { ...examination, now_ms });
		return { finding: { sso_url: provider.sso_url, identity } };
	} catch (error) {
		if (error instanceof ProviderUnavailable) return { unavailable: error.message };
		// A response that a library stumbles over counts as refused.
		return { refused: error instanceof SsoRefusal ? error.reason : "malformed" };
	}
}

answerQuestions(answer);
