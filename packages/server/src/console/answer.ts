import { AppError } from "../errors.ts";
import { targetOf } from "./html.ts";
import type { Draft, Fields, Moved, Page } from "./page.ts";
import { withSentForm } from "./refused-form.ts";
import { FORM_TOKEN } from "./request-guard.ts";

/** Asks the endpoint of a method at the address of the request. */
export type Use = (method: string, form: Fields) => Promise<Page | Moved>;

/** A form, with the memory of the session's form that waits until its sender has confirmed who they are. */
interface Sent {
	target: string;
	form: Fields;
	kept: Draft;
}

/** Shows a page; with what was typed into its form when it follows a confirmation. */
export async function answerPage(use: Use, { target, kept }: Sent): Promise<Page | Moved> {
	const form = kept.kept(target);
	const result = await use("GET", {});
	if (form === undefined || !("body" in result)) return result;
	kept.drop();
	return { ...result, body: withSentForm(result.body, { target, form }) };
}

/** Takes a form. A refused one comes back on its page, with what was typed and the reason. @throws AppError when it does not, such as forbidden */
export async function answerForm(use: Use, { target, form, kept }: Sent): Promise<Page | Moved> {
	kept.drop();
	try {
		const result = await use("POST", form);
		if ("to" in result && /^\/console\/confirm\b/.test(targetOf(result.to))) kept.keep(target, withoutSecrets(form));
		return result;
	} catch (why) {
		if (!(why instanceof AppError) || !isMended(why)) throw why;
		const page = await use("GET", {}).catch(() => undefined);
		if (page === undefined || !("body" in page)) throw why;
		const body = withSentForm(page.body, { target, form, why });
		return { ...page, status: why.status, headers: why.headers, body };
	}
}

/** Tells whether the sender can send the form again with a change; what nobody may do, they cannot mend. */
function isMended({ status, code }: AppError): boolean {
	return status < 500 && status !== 401 && code !== "forbidden" && code !== "insufficient_scope";
}

/** Fields that no page fills in again: settings keep theirs in a draft of their own. */
const SECRETS = /^f\.|password|^(?:again|code|value|passkey)$/;

function withoutSecrets(form: Fields): Fields {
	return Object.fromEntries(Object.entries(form).filter(([name]) => name !== FORM_TOKEN && !SECRETS.test(name)));
}
