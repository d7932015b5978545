import { MASK } from "@svc/protocol";
import { AppError } from "../errors.ts";
import { parseJson } from "../http/input.ts";
import { type Html, html } from "./html.ts";
import type { Fields } from "./page.ts";

/** A field of a form of settings. */
export interface Field {
	name: string;
	/** `long` has several lines, `lines` is a list with one entry a line, `json` anything else. */
	kind: "text" | "long" | "secret" | "number" | "boolean" | "choice" | "lines" | "json";
	/** Meaning, for the person who fills it. */
	about: string;
	isRequired: boolean;
	/** Set for a switch that is left out when it is off: the schema gives it no default. */
	isLeftOut?: boolean;
	/** Set for a secret of several lines, such as a key as PEM. */
	hasLines?: boolean;
	/** Values of a choice. */
	choices?: readonly (string | number)[];
}

/** A property of a JSON schema, as far as a form knows it. Anything in it may be a third party's. */
interface Property {
	type?: unknown;
	format?: unknown;
	description?: unknown;
	enum?: unknown;
	items?: unknown;
	default?: unknown;
}

/** Bounds of what a third party's schema puts on a page. */
const MAX_CHOICES = 50;
const MAX_ABOUT = 300;

/** Texts of several lines, by their names and descriptions. */
const LONG = /\b(?:PEM|XML)\b|cert/;

/** Secrets of several lines: a password field would lose the breaks between them. */
const SECRET_LINES = /\b(?:PEM|XML|JSON|kubeconfig)\b|cert|private.key|key.file/i;

/** Makes the field of a property of a JSON schema. */
export function schemaField(name: string, property: Property, isRequired: boolean): Field {
	const about = typeof property.description === "string" ? property.description.slice(0, MAX_ABOUT) : "";
	const choices = choicesOf(property);
	if (choices !== undefined) return { name, kind: "choice", about, isRequired, choices };
	const isLeftOut = !isRequired && property.default === undefined;
	const hasLines = SECRET_LINES.test(`${name} ${about}`);
	return { name, kind: kindOf(name, property, about), about, isRequired, isLeftOut, hasLines };
}

function choicesOf({ enum: values }: Property): (string | number)[] | undefined {
	if (!Array.isArray(values) || values.length > MAX_CHOICES) return undefined;
	const plain = values.filter((one) => typeof one === "number" || (typeof one === "string" && one.length <= MAX_ABOUT));
	return plain.length === values.length ? plain : undefined;
}

function kindOf(name: string, { type, format, items }: Property, about: string): Field["kind"] {
	if (format === "password" && type === "string") return "secret";
	if (type === "integer" || type === "number") return "number";
	if (type === "boolean") return "boolean";
	const ofTexts = typeof items === "object" && items !== null && "type" in items && items.type === "string";
	if (type === "array" && ofTexts) return "lines";
	if (type !== "string") return "json";
	return LONG.test(name) || LONG.test(about) ? "long" : "text";
}

/** Name of a field in the form: no schema can name a field that the console itself uses. */
const inForm = (name: string) => `f.${name}`;

/** Picks the fields of settings out of a form. */
export function typedIn(form: Fields): Fields {
	return Object.fromEntries(Object.entries(form).filter(([name]) => name.startsWith(inForm(""))));
}

/** Leaves out secrets that were typed: a page holds none. */
export function withoutSecrets(fields: readonly Field[], typed: Fields): Fields {
	const shown = { ...typed };
	for (const { name, kind } of fields)
		if (kind === "secret" && shown[inForm(name)] !== MASK) delete shown[inForm(name)];
	return shown;
}

/** Writes settings as a form shows them; secrets are masked already. */
export function textsOf(fields: readonly Field[], settings: Readonly<Record<string, unknown>>): Fields {
	const known = fields.filter(({ name }) => settings[name] !== undefined && settings[name] !== null);
	return Object.fromEntries(known.map(({ name, kind }) => [inForm(name), textOf(kind, settings[name])]));
}

function textOf(kind: Field["kind"], value: unknown): string {
	if (kind === "boolean") return value === true ? "yes" : "";
	if (kind === "lines" && Array.isArray(value)) return value.join("\n");
	if (kind === "json" || typeof value === "object") return JSON.stringify(value, undefined, 2);
	return String(value);
}

/** Reads settings from a form; a field that stayed empty is left out. @throws AppError validation_failed */
export function settingsIn(fields: readonly Field[], form: Fields): Record<string, unknown> {
	const read = fields.map((field) => [field.name, settingOf(field, form[inForm(field.name)] ?? "")] as const);
	return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

function settingOf({ name, kind, choices, isLeftOut }: Field, given: string): unknown {
	// Browsers send every line break as CRLF.
	const text = given.replaceAll("\r\n", "\n");
	if (kind === "boolean") return text === "yes" || (isLeftOut === true ? undefined : false);
	if (text.trim() === "") return undefined;
	switch (kind) {
		case "number":
			return numberIn(name, text);
		case "lines":
			return text
				.split("\n")
				.map((line) => line.trim())
				.filter((line) => line !== "");
		case "json":
			return jsonIn(name, text);
		case "choice":
			return choices?.find((one) => String(one) === text) ?? text;
		case "secret":
			return text.replace(/\n$/, "");
		default:
			return text;
	}
}

function numberIn(name: string, text: string): number {
	if (/^\s*-?\d{1,15}(?:\.\d{1,15})?\s*$/.test(text)) return Number(text);
	throw new AppError("validation_failed", `${name} must be a number`);
}

function jsonIn(name: string, text: string): unknown {
	try {
		return parseJson(Buffer.from(text));
	} catch {
		throw new AppError("validation_failed", `${name} must be JSON, such as {"name": "value"} or ["one"]`);
	}
}

/** Makes the inputs of fields, filled with what was stored or typed. */
export function inputs(fields: readonly Field[], texts: Fields): Html[] {
	return fields.map((field) => labelled(field, texts[inForm(field.name)] ?? ""));
}

function labelled(field: Field, text: string): Html {
	const { name, kind, about, isRequired } = field;
	const id = inForm(name);
	const described = html`<p class="quiet about" id="about.${name}">${about}${kind === "lines" ? " One a line." : ""}${kind === "json" ? " As JSON." : ""}</p>`;
	if (kind === "boolean") {
		const box =
			text === "yes"
				? html`<input type="checkbox" name="${id}" value="yes" aria-describedby="about.${name}" checked>`
				: html`<input type="checkbox" name="${id}" value="yes" aria-describedby="about.${name}">`;
		return html`<label>${box} ${name}</label>${described}`;
	}
	const needed = isRequired ? html` <span class="quiet">(required)</span>` : "";
	return html`<label for="${id}">${name}${needed}</label>${inputOf(field, text)}${described}`;
}

function inputOf({ name, kind, hasLines = false, choices = [] }: Field, text: string): Html {
	const id = inForm(name);
	switch (kind) {
		case "text":
			return html`<input id="${id}" name="${id}" type="text" value="${text}" autocomplete="off" spellcheck="false" autocapitalize="off" aria-describedby="about.${name}">`;
		case "number":
			return html`<input id="${id}" name="${id}" type="text" inputmode="decimal" value="${text}" autocomplete="off" aria-describedby="about.${name}">`;
		case "choice": {
			const all = ["", ...choices.map(String)].map((one) =>
				one === text
					? html`<option value="${one}" selected>${one}</option>`
					: html`<option value="${one}">${one}</option>`,
			);
			return html`<select id="${id}" name="${id}" aria-describedby="about.${name}">${all}</select>`;
		}
		case "secret":
			// As a new password, browsers do not fill in the person's own.
			if (!hasLines)
				return html`<input id="${id}" name="${id}" type="password" value="${text}" autocomplete="new-password" spellcheck="false" translate="no" aria-describedby="about.${name}">`;
			return html`<textarea id="${id}" name="${id}" rows="1" class="secret" autocomplete="off" spellcheck="false" autocapitalize="off" translate="no" aria-describedby="about.${name}">
${text}</textarea>`;
		default:
			return html`<textarea id="${id}" name="${id}" rows="3" autocomplete="off" spellcheck="false" autocapitalize="off" translate="no" aria-describedby="about.${name}">
${text}</textarea>`;
	}
}
