import assert from "node:assert/strict";
import type { Answer, Api } from "../harness/client.ts";
import type { Login } from "../harness/resources.ts";
import type { ServerOptions } from "../harness.ts";
import {
	asField,
	type Change,
	honestly,
	makeKey,
	requestIdOf,
	type Said,
	type SigningKey,
	writeDocument,
} from "../peers/saml-documents.ts";
import { cookieOf, type SsoWorld, startSsoWorld } from "./world.ts";

/** A login begun by a browser. */
export interface Begun {
	/** The provider's address, with the request. */
	readonly location: string;
	readonly cookie: string;
	/** Identifier of the request. */
	readonly request_id: string;
}

/** A server where people sign in with SAML. Fake providers have the key `key`. */
export interface SamlWorld extends Omit<SsoWorld, "set"> {
	readonly key: SigningKey;
	/** Returns the address to which the provider of this name sends its answers, or that of our metadata for it. */
	addressOf(name: string, of: "acs" | "metadata"): string;
	/** Sets a provider; a fake one by default. */
	set(name: string, config?: object): Promise<void>;
	/** @param query of the address, for logins of programs */
	begin(name: string, query?: string): Promise<Begun>;
	/** Returns a provider's honest answer to this request. */
	said(name: string, begun: Begun, changes?: Partial<Said>): Said;
	/** Posts the form with the provider's answer, as a browser does. @param document XML. @param cookie none by default */
	finish(name: string, document: string, cookie?: string): Promise<Answer<Login>>;
	/** Posts the form's fields as they are. */
	post(name: string, fields: Record<string, string>, cookie?: string): Promise<Answer<Login>>;
	/** Runs the whole login at a fake provider. */
	signIn(name: string, change?: Change): Promise<Answer<Login>>;
}

/** Returns the issuer of a fake provider. */
export const issuerOf = (name: string): string => `https://${name}.example.com/`;

/** Starts a server without providers. @param options of the server */
export async function startSamlWorld(options?: ServerOptions): Promise<SamlWorld> {
	const key = makeKey("rsa:2048");
	const { set, ...sso } = await startSsoWorld(options);
	const { server, client } = sso;
	const post: SamlWorld["post"] = (name, fields, cookie) =>
		client.send("POST", `/api/v1/auth/saml/${name}/acs`, {
			headers: { "content-type": "application/x-www-form-urlencoded", ...(cookie !== undefined && { cookie }) },
			raw: new URLSearchParams(fields).toString(),
		});
	const world: SamlWorld = {
		...sso,
		key,
		addressOf: (name, of) => `${server.url}/api/v1/auth/saml/${name}/${of}`,
		set(name, config) {
			const issuer = issuerOf(name);
			const unreal = { idp_entity_id: issuer, idp_sso_url: `${issuer}sso`, idp_certificate: key.certificate };
			const settings = config ?? { ...unreal, email_attribute: "mail", name_attribute: "displayName" };
			return set(name, "saml", settings);
		},
		begin: (name, query) => begin(client, name, query),
		said: (name, { request_id }, changes) => ({
			...honestly({
				issuer: issuerOf(name),
				audience: world.addressOf(name, "metadata"),
				acs_url: world.addressOf(name, "acs"),
				request_id,
			}),
			...changes,
		}),
		finish: (name, document, cookie) => post(name, { SAMLResponse: asField(document) }, cookie),
		post,
		async signIn(name, change) {
			const begun = await world.begin(name);
			return world.finish(name, writeDocument(world.said(name, begun), key, change), begun.cookie);
		},
	};
	return world;
}

async function begin(client: Api, name: string, query = ""): Promise<Begun> {
	const answer = await client.get(`/auth/saml/${name}/login?${query}`);
	assert.equal(answer.status, 302, answer.text);
	const location = String(answer.headers.location);
	return { location, cookie: cookieOf(answer), request_id: requestIdOf(location) };
}
