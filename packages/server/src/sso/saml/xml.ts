import { DOMParser } from "@xmldom/xmldom";
import { SsoRefusal } from "../model.ts";
import { NS } from "./namespaces.ts";

export type Namespace = keyof typeof NS;

const parser = new DOMParser({
	// The parser repairs text that is not well-formed, and warns: here every warning is an error.
	errorHandler: () => {
		throw new SsoRefusal("malformed");
	},
});

/** Parses an XML text and gives its root element. @throws SsoRefusal malformed */
export function parse(text: string): Element {
	try {
		return parser.parseFromString(text, "text/xml").documentElement;
	} catch (cause) {
		throw new SsoRefusal("malformed", { cause });
	}
}

/** Tells whether an element has this name. */
export function is(element: Element | undefined, namespace: Namespace, name: string): element is Element {
	return element?.localName === name && element.namespaceURI === NS[namespace];
}

/** Lists an element's child elements. */
export function childrenOf(element: Element): Element[] {
	return Array.from(element.childNodes).filter((node) => node.nodeType === node.ELEMENT_NODE) as Element[];
}

/** Lists an element and everything below it, in document order. */
export function allOf(element: Element): Element[] {
	return [element, ...childrenOf(element).flatMap(allOf)];
}

/** Lists the child elements of one name. */
export function named(element: Element, namespace: Namespace, name: string): Element[] {
	return childrenOf(element).filter((child) => is(child, namespace, name));
}

/** Returns the only child element of that name. @throws SsoRefusal malformed when there is none, or more than one */
export function only(element: Element, namespace: Namespace, name: string): Element {
	const child = atMostOne(element, namespace, name);
	if (child === undefined) throw new SsoRefusal("malformed");
	return child;
}

/** Returns the child element of that name, if any. @throws SsoRefusal malformed when there is more than one */
export function atMostOne(element: Element, namespace: Namespace, name: string): Element | undefined {
	const found = named(element, namespace, name);
	if (found.length > 1) throw new SsoRefusal("malformed");
	return found[0];
}

/** Reads an attribute without a namespace; undefined when it is absent, unlike an empty one. */
export function attribute(element: Element, name: string): string | undefined {
	return element.hasAttributeNS(null, name) ? (element.getAttributeNS(null, name) ?? "") : undefined;
}

/** Reads an element that contains text only. @throws SsoRefusal malformed */
export function textOf(element: Element): string {
	const nodes = Array.from(element.childNodes);
	if (nodes.some((node) => node.nodeType !== node.TEXT_NODE)) throw new SsoRefusal("malformed");
	return nodes.map((node) => node.nodeValue).join("");
}
