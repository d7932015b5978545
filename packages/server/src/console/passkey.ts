import type { Challenges } from "../factors/challenges.ts";
import { AuthenticationResponse, passkeyHost } from "../factors/responses.ts";
import type { SignedPasskey } from "../factors/use.ts";
import { check, parseJson } from "../http/input.ts";
import { type Html, html } from "./html.ts";
import type { Fields } from "./page.ts";

/** Dependencies of pages on which a passkey signs. */
export interface PasskeyPageNeeds {
	challenges: Challenges;
	/** Address that browsers reach the server at. */
	address(): string;
}

/** Name of the hidden field with what the browser answered, as JSON. */
export const ANSWER = "passkey";

/** Milliseconds that a person has to answer the browser: the lifetime of the challenge. */
const PATIENCE_MS = 5 * 60_000;

/** Tells people without JavaScript why they see no button. */
export const WITHOUT_SCRIPT: Html = html`<p class="warn" data-without-script="">Passkeys need JavaScript, which is off in this browser.</p>`;

/** Makes a button that lets the browser use a passkey, or make one, and then sends its form. Only the script can: without it the button stays hidden. @param way `get` signs, `create` makes */
export function passkeyButton(way: "get" | "create", options: object, label: string): Html {
	return html`<input type="hidden" name="${ANSWER}"><p><button type="button" data-passkey="${way}" data-options="${JSON.stringify(options)}" hidden>${label}</button></p>`;
}

/** Options for `navigator.credentials.get`. The person chooses among the passkeys of the host: no page knows the account yet. @param holder the browser or session that the challenge is for */
export function requestOptions({ challenges, address }: PasskeyPageNeeds, holder: string): object {
	return {
		challenge: challenges.make(holder),
		rpId: passkeyHost(address()),
		userVerification: "required",
		timeout: PATIENCE_MS,
		allowCredentials: [],
	};
}

/** Reads what a passkey signed, with what it must be for; undefined when the form has none. @throws AppError invalid_json, validation_failed */
export function signedIn(needs: PasskeyPageNeeds, form: Fields, holder: string): SignedPasskey | undefined {
	if (!form[ANSWER]) return undefined;
	const { origin, hostname: rp_id } = new URL(needs.address());
	return {
		answer: check(AuthenticationResponse, parseJson(Buffer.from(form[ANSWER]))),
		expected: { origin, rp_id, ...needs.challenges.checkFor(holder) },
	};
}
