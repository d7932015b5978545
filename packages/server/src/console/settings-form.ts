import { AppError } from "../errors.ts";
import { KEPT_MINUTES } from "./drafts.ts";
import { type Address, type Html, html } from "./html.ts";
import type { Draft, Fields, Moved, Visit } from "./page.ts";
import { type Field, inputs, typedIn, withoutSecrets } from "./settings-fields.ts";

/** Settings that were not stored, and why. */
export interface Refused {
	typed: Fields;
	why: AppError;
}

/**
 * Stores the settings of a form, after a test unless the person chose to store them anyway. Refused settings stay as a draft, with their secrets, so
 * that they can still be stored.
 * @param store stores the typed fields @param draft names the form
 * @returns undefined when they are stored
 * @throws AppError for errors other than invalid or failing settings, such as forbidden
 */
export async function storeSettings(
	{ form, draft }: Pick<Visit, "form" | "draft">,
	target: string,
	store: (typed: Fields, is_tried: boolean) => Promise<void>,
): Promise<Refused | undefined> {
	const isOfDraft = form.action === "again" || form.action === "keep";
	const typed = isOfDraft ? draft.kept(target) : typedIn(form);
	if (typed === undefined) throw goneDraft();
	try {
		await store(typed, form.action !== "keep");
		draft.drop();
		return undefined;
	} catch (error) {
		if (!(error instanceof AppError) || ![400, 409].includes(error.status)) throw error;
		draft.keep(target, typed);
		return { typed, why: error };
	}
}

/** Keeps a form while the person confirms who they are. */
export function keepTyped({ form, draft }: Pick<Visit, "form" | "draft">, target: string, asked: Moved): Moved {
	if (form.action === "try") draft.keep(target, typedIn(form));
	return asked;
}

/** Makes the error for a form that is no longer kept. */
export function goneDraft(): AppError {
	return new AppError("conflict", `what you typed was kept for ${KEPT_MINUTES} minutes: go back and type it again`);
}

/** A form of settings. */
interface SettingsForm {
	to: Address;
	token: Html;
	/** Name of the draft. */
	target: string;
	fields: readonly Field[];
	/** Fields that most people leave alone. */
	more: readonly Field[];
	/** Stored settings, as texts. */
	stored: Fields;
	refused: Refused | undefined;
	draft: Draft;
	/** Says what follows when failing settings are stored anyway. */
	anyway?: string;
}

/** Shows a form of settings, filled with what was typed or else stored. A typed secret is in no page: its field is empty. */
export function settingsForm({ to, token, target, fields, more, stored, refused, draft, anyway }: SettingsForm): Html {
	const kept = draft.kept(target);
	const typed = refused?.typed ?? kept;
	const texts = typed === undefined ? stored : withoutSecrets([...fields, ...more], typed);
	const rest = more.length === 0 ? "" : html`<details><summary>More</summary>${inputs(more, texts)}</details>`;
	return html`${refused === undefined ? "" : html`<p class="error" role="alert">${refused.why.message}</p>`}${kept === undefined ? "" : keptBox(to, token, refused, anyway)}
<form method="post" action="${to}">${token}<input type="hidden" name="action" value="try">${inputs(fields, texts)}${rest}<p><button>Test and store</button></p></form>`;
}

function keptBox(to: Address, token: Html, refused: Refused | undefined, anyway = ""): Html {
	const button = (action: string, label: string) =>
		html`<form method="post" action="${to}">${token}<input type="hidden" name="action" value="${action}"><button>${label}</button></form>`;
	const keep = refused?.why.code === "conflict" ? html`<p>${anyway}</p>${button("keep", "Store it anyway")}` : "";
	return html`<section class="box" aria-labelledby="kept"><h2 id="kept">What you typed is not stored</h2><p>The server remembers it for ${KEPT_MINUTES} minutes, including its secrets, which no page shows. If you change a field below instead, type the secrets again.</p><div class="row">${button("again", "Test and store it again")}${keep}</div></section>`;
}
