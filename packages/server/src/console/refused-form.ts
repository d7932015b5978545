import { AppError, type ErrorCode } from "../errors.ts";
import { constant, escapeText, type Html, html, textOf } from "./html.ts";
import type { Fields } from "./page.ts";
import { FORM_TOKEN } from "./request-guard.ts";

/** A form that was sent, and why it was refused, if it was. */
export interface SentForm {
	/** Path and query that it was sent to. */
	target: string;
	form: Fields;
	why?: AppError | undefined;
}

/** A refusal of one field of a form, in the words of its page. */
export class Misfilled extends AppError {
	readonly field: string;

	/** @param field the name of the field */
	constructor(field: string, message: string, code: ErrorCode = "validation_failed") {
		super(code, message);
		this.field = field;
	}
}

/** Fields that a refusal is about, by its code; the first that the form has. Other messages begin with the name of theirs. */
const FIELDS_OF_CODES: Partial<Record<ErrorCode, readonly string[]>> = {
	wrong_password: ["current_password", "password"],
	wrong_code: ["code"],
	password_too_short: ["new_password", "password"],
	invalid_environment: ["environment"],
	invalid_role: ["role"],
	invalid_slug: ["slug"],
	invalid_ttl: ["ttl"],
};

/** Inputs of text that are filled again. A password, a code and any other kind stay empty. */
const TEXTS = new Set(["text", "email", "date", "datetime-local", "search"]);

// Every template has its attributes in double quotes, and no value brings a quote, < or > of its own: see html.ts.
const FORM = /<form\b([^>]*)>([\s\S]*?)<\/form>/g;
const INPUT = /<input\b([^>]*)>/g;
const CONTROL = /<(input)\b([^>]*)>|<(select|textarea)\b([^>]*)>([\s\S]*?)<\/\3>/g;

/**
 * Shows a page again with what was typed into one of its forms. A refusal stands at the top, and next to its field. Passwords, codes and the texts of
 * secrets are never filled in: a text of several lines only where its field says `data-again`.
 */
export function withSentForm(body: Html, sent: SentForm): Html {
	const problem = sent.why === undefined ? "" : html`<p class="error" role="alert">${sent.why.message}</p>`;
	return html`${problem}${constant(filled(textOf(body), sent))}`;
}

function filled(page: string, sent: SentForm): string {
	for (const { 0: whole, 1: attributes = "", 2: content = "", index } of page.matchAll(FORM)) {
		if (!isSent(attributes, content, sent)) continue;
		const again = `<form${attributes}>${fill(content, sent)}</form>`;
		return opened(page.slice(0, index)) + again + page.slice(index + whole.length);
	}
	return page;
}

/** Tells whether a form of the page is the one that was sent: its address and its hidden fields are the same. */
function isSent(attributes: string, content: string, { target, form }: SentForm): boolean {
	if (attribute(attributes, "action") !== escapeText(target)) return false;
	return content.matchAll(INPUT).every(([, input = ""]) => {
		const name = attribute(input, "name") ?? "";
		if (attribute(input, "type") !== "hidden" || !Object.hasOwn(form, name) || name === FORM_TOKEN) return true;
		return attribute(input, "value") === escapeText(form[name] ?? "");
	});
}

/** Reads an attribute, as it is written. */
function attribute(attributes: string, name: string): string | undefined {
	return attributes.match(new RegExp(` ${name}="([^"]*)"`))?.[1];
}

/** Opens the details that the page is in where it was cut. */
function opened(start: string): string {
	const at = start.lastIndexOf("<details>");
	return at <= start.lastIndexOf("</details>") ? start : `${start.slice(0, at)}<details open="">${start.slice(at + 9)}`;
}

function fill(content: string, { form, why }: SentForm): string {
	const culprit = why && fieldOf(why, content);
	const start = culprit === undefined ? content : content.replaceAll(" autofocus", "");
	return start.replace(CONTROL, (whole, input: string | undefined, given, kind: string, other, inside: string) => {
		const attributes: string = given ?? other;
		const name = attribute(attributes, "name") ?? "";
		const marked = why !== undefined && name === culprit ? marks(attributes) : attributes;
		const problem =
			marked === attributes ? "" : `<span class="bad problem" id="problem">${escapeText(why?.message ?? "")}</span>`;
		if (input !== undefined) return `<input${typedInto(marked, form[name])}>${problem}`;
		const text = form[name];
		if (text === undefined) return whole;
		return `<${kind}${marked}>${kind === "select" ? chosen(inside, text) : written(attributes, inside, text)}</${kind}>${problem}`;
	});
}

/** Finds the field that a refusal is about. */
function fieldOf(why: AppError, content: string): string | undefined {
	const first = why.message.match(/^[a-z_]+/)?.[0] ?? "";
	const named = why instanceof Misfilled ? [why.field] : [...(FIELDS_OF_CODES[why.code] ?? []), first];
	const isFilled = (name: string) => new RegExp(`<(?:input|select|textarea)\\b[^>]* name="${name}"`).test(content);
	return named.find((name) => name !== "" && isFilled(name));
}

/** Marks the field as wrong. It gets the focus, so that it is read out with the reason. */
function marks(attributes: string): string {
	if (attribute(attributes, "type") === "hidden") return attributes;
	const described = attribute(attributes, "aria-describedby");
	const rest = attributes.replace(/ aria-describedby="[^"]*"/, "");
	return `${rest} aria-invalid="true" aria-describedby="problem${described === undefined ? "" : ` ${described}`}" autofocus=""`;
}

function typedInto(attributes: string, text: string | undefined): string {
	const kind = attribute(attributes, "type") ?? "";
	if (kind === "checkbox") {
		const isTicked = text !== undefined && attribute(attributes, "value") === escapeText(text);
		return attributes.replace(/ checked(?:="")?/, "") + (isTicked ? ' checked=""' : "");
	}
	const isOnce = attribute(attributes, "autocomplete") === "one-time-code";
	if (text === undefined || !TEXTS.has(kind) || isOnce) return attributes;
	return `${attributes.replace(/ value="[^"]*"/, "")} value="${escapeText(text)}"`;
}

function chosen(options: string, text: string): string {
	const wanted = ` value="${escapeText(text)}"`;
	if (!options.includes(wanted)) return options;
	return options.replaceAll(/ selected(?:="")?/g, "").replace(wanted, `${wanted} selected=""`);
}

function written(attributes: string, stored: string, text: string): string {
	return attribute(attributes, "data-again") === undefined ? stored : `\n${escapeText(text)}`;
}
