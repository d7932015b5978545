import type * as v from "valibot";
import type { ProviderType } from "../sso/model.ts";
import { LdapSettings, OidcSettings, SamlSettings, SECRET_FIELDS } from "../sso/settings.ts";
import { type Field, schemaField } from "./settings-fields.ts";

type Entries = Readonly<Record<string, v.GenericSchema>>;

const ENTRIES: Readonly<Record<ProviderType, Entries>> = {
	oidc: OidcSettings.entries,
	saml: SamlSettings.entries,
	ldap: LdapSettings.entries,
};

/** Meaning of each field. */
const ABOUT: Readonly<Record<string, string>> = {
	issuer: "Address that the provider gives as its issuer, letter by letter.",
	client_id: "As registered at the provider.",
	client_secret: "As the provider gave it.",
	scopes: "Names separated by spaces.",
	ca_cert: "PEM certificates of the authorities that signed the provider's certificate, if they are not public.",
	groups_claim: "Claim that lists groups.",
	idp_metadata: "XML that the provider publishes. Without it, fill in the next three fields.",
	idp_entity_id: "Entity id of the provider.",
	idp_sso_url: "Address at the provider to which browsers are sent.",
	idp_certificate: "PEM certificates that verify the provider's signatures.",
	sp_entity_id: "Entity id of this server at the provider. Left empty, the address of our metadata.",
	email_attribute: "Attribute with the e-mail.",
	name_attribute: "Attribute with the name.",
	groups_attribute: "Attribute that lists groups.",
	url: "Such as ldaps://ldap.example.com, or ldap:// with start_tls.",
	user_base_dn: "Where people are, such as ou=people,dc=example,dc=com.",
	bind_dn: "Account with which svc searches the directory. Left empty, svc searches anonymously.",
	bind_password: "Password of that account.",
	user_filter: "Filter that contains {username}.",
	start_tls: "Encrypts a connection that begins as ldap://.",
	id_attribute: "Attribute that identifies a person permanently.",
	group_base_dn: "Where groups are, such as ou=groups,dc=example,dc=com.",
	group_filter: "Filter of the groups of a person.",
	auto_provision: "A new person gets an account at the first sign-in.",
	allowed_domains: "E-mail domains that new accounts may have. Left empty, any.",
	trusted_email_domains: "E-mail domains for which svc believes the provider about who owns an address.",
	role_mappings: 'Roles that groups give, such as [{"group": "ops", "realm": "shop", "role": "member"}].',
};

/** Fields that most providers can do without. */
const RARE = /^(ca_cert|sp_entity_id|id_attribute|group_filter|user_filter|trusted_email_domains|name_attribute)$/;

/** Makes the fields of a provider's form from the schema of the API. */
export function providerFields(type: ProviderType): { fields: Field[]; more: Field[] } {
	const all = Object.entries(ENTRIES[type]).map(([name, schema]) =>
		schemaField(name, propertyOf(name, schema), schema.type !== "optional"),
	);
	const display: Field = { name: "display_name", kind: "text", about: "As people see it.", isRequired: false };
	return {
		fields: [display, ...all.filter(({ name }) => !RARE.test(name))],
		more: all.filter(({ name }) => RARE.test(name)),
	};
}

/** Describes a field as JSON Schema does. */
function propertyOf(name: string, schema: v.GenericSchema) {
	const inner = unwrapped(schema);
	const format = SECRET_FIELDS.includes(name) ? "password" : undefined;
	const items = "item" in inner ? { type: unwrapped(inner.item as v.GenericSchema).type } : undefined;
	return { type: inner.type, format, items, description: ABOUT[name], default: usualOf(schema) };
}

function unwrapped(schema: v.GenericSchema): v.GenericSchema {
	return "wrapped" in schema ? unwrapped(schema.wrapped as v.GenericSchema) : schema;
}

/** Lists the settings that a new provider of this type begins with. */
export function usualSettings(type: ProviderType): Record<string, unknown> {
	return Object.fromEntries(Object.entries(ENTRIES[type]).map(([name, schema]) => [name, usualOf(schema)]));
}

const usualOf = (schema: v.GenericSchema) => ("default" in schema ? schema.default : undefined);
