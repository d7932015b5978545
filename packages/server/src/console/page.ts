import { AppError } from "../errors.ts";
import type { Actor } from "../policy/model.ts";
import type { Command } from "./command.ts";
import type { Address, Html } from "./html.ts";

/** Fields of a form or a query. Any may be missing. */
export type Fields = Readonly<Partial<Record<string, string>>>;

/** A person's request for a page, once session and form have been checked. */
export interface Visit {
	actor: Actor;
	/** Parts of the path, decoded. */
	params: readonly string[];
	query: Fields;
	/** Fields of the posted form. */
	form: Fields;
	/** Hidden field that every form of this session needs. */
	token: Html;
	/** Memory of the session between two pages. */
	notes: Notes;
	/** Text that the page before left for this one alone. */
	once: Once | undefined;
	/** The session's refused form, if one is kept. */
	draft: Draft;
}

/** A text, such as a new token, that one page may show once. */
interface Once {
	target: string;
	text: string;
	/** Unix milliseconds. */
	until: number;
}

/** Memory of a session between two pages; it is stored nowhere. */
export interface Notes {
	/** Shown once, on the next page: the outcome of a change, or its refusal. */
	message?: string | undefined;
	problem?: string | undefined;
	/** The secret that the next page of this target may show once. */
	reveal?: { target: string; until: number; isToCopy: boolean } | undefined;
	/** Kept for the next page alone. */
	once?: Once | undefined;
	/** A text that its page shows again after a refusal: the secret of an authenticator app that waits for its first code. */
	waiting?: (Once & { isAsked: boolean }) | undefined;
	/** Unix milliseconds at which the person last showed who they are after signing in; it becomes the actor's. */
	confirmed_at?: number;
	/** Set while the last page held a value. */
	hasShown?: boolean;
}

/** A session's refused form. Its secrets stay in the server's memory: no page holds them, and nothing stores them. */
export interface Draft {
	/** Keeps the form in place of the one before; false when it is too large. */
	keep(target: string, form: Fields): boolean;
	/** Returns the form that was kept for this target. */
	kept(target: string): Fields | undefined;
	drop(): void;
}

/** A link: what it says, and its address. */
export type Link = readonly [label: string, to: Address];

/** A page, without what all pages share. */
export interface Page {
	/** Heading and title: never a value. */
	title: string;
	body: Html;
	/** Pages above this one. */
	above?: readonly Link[];
	/** Pages next to this one; the one with this page's title is the current one. */
	tabs?: { name: string; current: string; links: readonly Link[] };
	/** How to do the same with `svc`. */
	commands?: readonly Command[];
	status?: number;
	/** Seconds after which the browser asks for the page again. */
	refresh?: number;
	/** Address of another site that the browser goes on to: a redirect after a form would be refused by the page's policy. */
	away?: string;
	/** Cookies to set. */
	cookies?: readonly string[];
	/** Further headers of the answer. */
	headers?: Readonly<Record<string, string>>;
}

/** The way to the next page after a change. */
export interface Moved {
	to: Address;
	/** Shown there once. */
	message?: string;
	/** Why nothing was changed; shown there once. */
	problem?: string;
	/** Cookies to set or end. */
	cookies?: readonly string[];
}

/** A page or a change: POST changes and GET shows. */
export interface Endpoint {
	method: "GET" | "POST";
	path: RegExp;
	answer(visit: Visit): Promise<Page | Moved>;
}

/** Reads a field of a form. @throws AppError missing_field */
export function fieldOf(visit: Pick<Visit, "form">, name: string): string {
	const value = visit.form[name];
	if (value === undefined || value === "") throw new AppError("missing_field", `${name} is required`);
	return value;
}
