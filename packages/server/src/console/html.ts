/** Marks what a template made. A symbol: nothing that came as JSON or as a form has it. */
const MARKUP = Symbol("markup");
const ADDRESS = Symbol("address");

/** Markup that is ready to be sent. */
export interface Html {
	readonly [MARKUP]: string;
}

/** Address of a page of the console; its parts are percent-encoded. */
export interface Address {
	readonly [ADDRESS]: string;
}

type Value = string | number | Html | Address | readonly Html[];

/** Place of a value in a template. */
type Place = "text" | "attribute" | "address" | "part of an address";

const HOLE = "\0";
/** A tag whose attributes are all in double quotes. Any other spelling is refused. */
const TAG = /<\/?([a-z][a-z0-9]*)((?:\s+[a-z][a-z-]*(?:="[^"<>]*")?)*)\s*>/g;
const ATTRIBUTE = /([a-z][a-z-]*)(?:="([^"]*)")?/g;
const REFUSED_TAGS = new Set(
	"script style base iframe object embed math template foreignobject use image animate animatemotion animatetransform set".split(
		" ",
	),
);
const REFUSED_ATTRIBUTES = /^(?:on.*|style|srcdoc|srcset|ping|http-equiv)$/;
const ADDRESSES = new Set(["href", "src", "action", "formaction"]);

/** Places of each template's values: a template is checked once. */
const checked = new WeakMap<TemplateStringsArray, Place[]>();

/**
 * Makes markup from a template. A value may appear in text, inside a quoted attribute, or in an address; it is escaped for its place.
 * @throws Error when the template has a value anywhere else, or an element or attribute that can run code
 */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
	const places = checkedPlaces(parts);
	let text = parts[0] ?? "";
	for (let at = 0; at < values.length; at++)
		text += inPlace(values[at] as Value, places[at] ?? "text") + (parts[at + 1] ?? "");
	return { [MARKUP]: text };
}

/** Makes the address of a page; each value becomes one part of its path or query. */
export function address(parts: TemplateStringsArray, ...values: readonly (string | number)[]): Address {
	const start = parts[0] ?? "";
	if (!start.startsWith("/console")) throw new Error("an address of the console begins with /console");
	return { [ADDRESS]: values.reduce<string>((text, value, i) => text + encode(value) + (parts[i + 1] ?? ""), start) };
}

/** Adds a query to the address of a page, without the fields that are empty. */
export function withQuery(to: Address, fields: Readonly<Record<string, string>>): Address {
	const given = Object.entries(fields).filter(([, text]) => text !== "");
	const query = given.map(([name, text]) => `${encode(name)}=${encode(text)}`).join("&");
	return query === "" ? to : { [ADDRESS]: `${to[ADDRESS]}?${query}` };
}

/** Without segments `.` and `..`, which a browser resolves: they lead out of the console. */
const TARGET = /^\/console(?:\/(?!(?:\.|%2e){1,2}(?:[/?]|$))[\w.~%-]+)*(?:\?[\w.~%=&+-]*)?$/i;
const MAX_TARGET = 2048;

/** Takes a path and query for an address if a page of the console can have it; else it is that of the first page, whatever was given. */
export function addressOf(target: string | undefined): Address {
	const isOurs = target !== undefined && target.length <= MAX_TARGET && TARGET.test(target);
	return { [ADDRESS]: isOurs ? target : "/console" };
}

/** Admits a constant of the program as markup. Never give it anything that was received or stored. */
export function constant(text: string): Html {
	return { [MARKUP]: text };
}

/** Text of markup, to be sent. */
export function textOf(markup: Html): string {
	return markup[MARKUP];
}

/** Text of an address, for the Location header. */
export function targetOf(to: Address): string {
	return to[ADDRESS];
}

function inPlace(value: Value, place: Place): string {
	if (place === "part of an address") return escapeText(encode(plain(value, place)));
	if (place === "address") {
		if (isAddress(value)) return escapeText(value[ADDRESS]);
		throw new Error("an address that begins with a value needs `address`");
	}
	if (place === "attribute") return escapeText(String(plain(value, place)));
	if (Array.isArray(value)) return value.map((one: Html) => markupOf(one)).join("");
	return typeof value === "object" ? markupOf(value as Html) : escapeText(String(value));
}

function isAddress(value: Value): value is Address {
	return typeof value === "object" && ADDRESS in value;
}

function plain(value: Value, place: Place): string | number {
	if (typeof value === "string" || typeof value === "number") return value;
	throw new Error(`a value in the place of ${place} must be a text or a number`);
}

function markupOf(value: Html): string {
	const text: unknown = value[MARKUP];
	if (typeof text === "string") return text;
	throw new Error("an object is not markup");
}

function encode(value: string | number): string {
	return encodeURIComponent(String(value));
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const ESCAPED = /[&<>"'\r]/;

/** Escapes a text for any place of markup. */
export function escapeText(text: string): string {
	// Most texts have nothing to escape, and looking takes a third of the time.
	if (!ESCAPED.test(text)) return text;
	return text.replace(/[&<>"'\r]/g, (sign) => ENTITIES[sign] ?? "");
}

function checkedPlaces(parts: TemplateStringsArray): Place[] {
	const known = checked.get(parts);
	if (known !== undefined) return known;
	const places = findPlaces(parts.join(HOLE));
	if (places.length !== parts.length - 1) throw new Error("a template must not contain NUL");
	checked.set(parts, places);
	return places;
}

function findPlaces(template: string): Place[] {
	const places: Place[] = [];
	let end = 0;
	const readText = (text: string) => {
		if (/[<>]/.test(text)) throw new Error('a template has a tag that cannot be checked: quote every attribute with "');
		for (const _ of text.matchAll(/\0/g)) places.push("text");
	};
	for (const match of template.matchAll(TAG)) {
		const [whole, name = "", attributes = ""] = match;
		readText(template.slice(end, match.index));
		if (REFUSED_TAGS.has(name)) throw new Error(`a template must not have the element ${name}`);
		for (const [, attribute = "", value = ""] of attributes.matchAll(ATTRIBUTE))
			places.push(...inAttribute(attribute, value));
		end = match.index + whole.length;
	}
	readText(template.slice(end));
	return places;
}

function inAttribute(name: string, value: string): Place[] {
	if (REFUSED_ATTRIBUTES.test(name)) throw new Error(`a template must not have the attribute ${name}`);
	const count = value.split(HOLE).length - 1;
	if (!ADDRESSES.has(name)) return Array<Place>(count).fill("attribute");
	if (value === HOLE) return ["address"];
	if (!/^(?:[/?#]|\.\/)/.test(value)) throw new Error(`the attribute ${name} must begin with / or ./ or be an address`);
	return Array<Place>(count).fill("part of an address");
}
