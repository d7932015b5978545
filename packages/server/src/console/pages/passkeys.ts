import { isEnded } from "../../factors/decide.ts";
import { type FactorNeeds, isPending } from "../../factors/factors.ts";
import type { Factor } from "../../factors/model.ts";
import { creationOptions } from "../../factors/passkeys.ts";
import { passkeyHost } from "../../factors/responses.ts";
import { type Html, html } from "../html.ts";
import type { Visit } from "../page.ts";
import { type PasskeyPageNeeds, passkeyButton, requestOptions, WITHOUT_SCRIPT } from "../passkey.ts";
import { NO_HOST } from "./sign-in-passkey.ts";

/** Dependencies of the page of second factors. */
export type FactorPageNeeds = FactorNeeds & PasskeyPageNeeds;

/** Name under which an answer's challenge is for this session, and for no browser that signs in. */
export const holderOf = ({ actor }: Pick<Visit, "actor">): string => `session ${actor.jti}`;

/** A button that lets a passkey of the account stand in for a code; nothing where there is none that works. */
export function inPlaceOfCode(
	needs: PasskeyPageNeeds,
	visit: Pick<Visit, "actor">,
	factors: readonly Factor[],
): Html | string {
	const host = passkeyHost(needs.address());
	const working = factors.filter((one) => one.rp_id !== null && one.rp_id === host && !isEnded(one));
	if (!working.some(({ confirmed_at }) => confirmed_at !== null)) return "";
	return passkeyButton("get", requestOptions(needs, holderOf(visit)), "Use a passkey in place of the code");
}

/** How to add a passkey, and where none can work. @param proof fields with the proof that a change asks for */
export function addingPasskey({ address }: FactorPageNeeds, token: Html, proof: Html): Html {
	const host = passkeyHost(address());
	const about = html`<h2>Add a passkey</h2><p>It signs you in to the console only. Your device or security key asks you to unlock it, and no password is needed. Signing in with your password then needs a code, too. A terminal cannot use passkeys, so add an authenticator app as well if you use <code>svc login</code>.</p>`;
	if (host === undefined) return html`${about}<p class="warn">${NO_HOST}</p>`;
	const certificate =
		host === "localhost"
			? ""
			: html` The browser must trust the server's certificate: after a warning it allows no passkey.`;
	return html`${about}<p>It works at ${host} and nowhere else.${certificate}</p>${WITHOUT_SCRIPT}
<form method="post" action="/console/account/factors">${token}<input type="hidden" name="action" value="add-passkey"><label for="name">Name of the passkey, such as that of the device</label><input id="name" name="name" type="text" maxlength="100" autocomplete="off" required>${proof}<p><button>Go on</button></p></form>`;
}

/** The form with which the browser makes a passkey that was begun; a text when it was begun too long ago, in another session, or at another host. */
export async function makingPasskey(
	needs: FactorPageNeeds,
	{ actor, token }: Visit,
	begun: Factor,
	factors: readonly Factor[],
): Promise<Html> {
	const isOpen = isPending(begun, needs.system.now()) && begun.rp_id === passkeyHost(needs.address());
	const options = isOpen ? await creationOptions(needs, actor, begun, factors) : undefined;
	if (options === undefined) return html`<p class="quiet">Start again below.</p>`;
	return html`<form method="post" action="/console/account/factors">${token}<input type="hidden" name="action" value="confirm-passkey"><input type="hidden" name="id" value="${begun.id}">${passkeyButton("create", options, "Make the passkey now")}</form>`;
}

/** Describes the state of a passkey: it may have ended, or be for a host that the server no longer has. */
export function stateOf({ rp_id, ...factor }: Factor, address: string): Html | string {
	if (isEnded(factor)) return html`<span class="bad">disabled: a copy of it was used. Remove it</span>`;
	const isHere = rp_id === passkeyHost(address);
	return isHere ? "signs in" : html`<span class="warn">works only at ${rp_id ?? ""}</span>`;
}
