import type { SigningCertificate } from "@svc/x509";
import * as v from "valibot";
import { atMost, errorMessage, PlainText, RequiredText } from "../messages.ts";
import { Role } from "../policy/model.ts";
import { isProtected } from "./address.ts";
import { PROVIDER_TYPES } from "./model.ts";
import type { StoredMapping } from "./role-mappings.ts";

const refuse = (text: string) => errorMessage("validation_failed", text);

const Domain = v.pipe(
	v.string(),
	v.transform((text) => text.trim().toLowerCase()),
	v.regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, refuse("a domain must be a name such as example.com")),
);

const Domains = v.pipe(v.array(Domain), v.maxLength(1000, refuse("at most 1000 domains can be listed")));

const Pem = v.pipe(
	RequiredText,
	atMost(65_536, "a certificate"),
	v.includes("-----BEGIN CERTIFICATE-----", refuse("a certificate must be PEM text: -----BEGIN CERTIFICATE-----")),
);

const Short = v.pipe(RequiredText, atMost(2048, "a field of config"));

/** An optional PEM text. */
const CaCert = v.optional(Pem);

/** Fields that every type has. Design: §11 */
const COMMON = {
	/** True if a new person gets an account. */
	auto_provision: v.optional(v.boolean(), true),
	/** E-mail domains of new accounts; any when it is empty. */
	allowed_domains: v.optional(Domains, []),
	/** Domains for which the provider is trusted to say whose an address is. */
	trusted_email_domains: v.optional(Domains, []),
	role_mappings: v.optional(
		v.pipe(
			v.array(v.strictObject({ group: Short, realm: Short, role: Role })),
			v.maxLength(1000, refuse("at most 1000 role_mappings can be listed")),
		),
		[],
	),
};

/** Settings of an OpenID Connect provider. Design: §11 */
export const OidcSettings = v.strictObject(
	{
		/** Compared byte by byte with the issuer that the provider names. */
		issuer: v.pipe(
			Short,
			v.check(
				(text) => isProtected(text, "https:", "https:") && !/[?#]/.test(text),
				refuse("issuer must be an https address without ? and #"),
			),
		),
		client_id: Short,
		client_secret: Short,
		scopes: v.optional(
			v.pipe(
				Short,
				v.check(
					(text) => text.split(" ").includes("openid"),
					refuse("scopes must be names separated by spaces, including openid"),
				),
			),
			"openid profile email",
		),
		/** PEM of the authorities that may have signed the provider's certificate, in place of Node's. */
		ca_cert: CaCert,
		/** Claim that lists groups. */
		groups_claim: v.optional(Short),
		...COMMON,
	},
	refuse("config has an unknown field for an oidc provider"),
);

/** Settings of a SAML identity provider. Design: §11 */
export const SamlSettings = v.pipe(
	v.strictObject(
		{
			/** The provider's metadata, XML. */
			idp_metadata: v.optional(v.pipe(RequiredText, atMost(262_144, "idp_metadata"))),
			idp_entity_id: v.optional(Short),
			idp_sso_url: v.optional(
				v.pipe(
					Short,
					v.check((text) => isProtected(text, "https:", "http:"), refuse("idp_sso_url must be an https address")),
				),
			),
			/** Certificates that verify signatures: PEM, one after the other. */
			idp_certificate: v.optional(Pem),
			/** Our entity id at the provider; the address of our metadata when it is absent. */
			sp_entity_id: v.optional(Short),
			/** Attribute with the e-mail; the NameID when it is absent. */
			email_attribute: v.optional(Short),
			name_attribute: v.optional(Short),
			groups_attribute: v.optional(Short),
			...COMMON,
		},
		refuse("config has an unknown field for a saml provider"),
	),
	v.check(({ idp_metadata, idp_entity_id, idp_sso_url, idp_certificate }) => {
		const own = [idp_entity_id, idp_sso_url, idp_certificate];
		return idp_metadata === undefined
			? own.every((field) => field !== undefined)
			: own.every((field) => field === undefined);
	}, refuse("config needs idp_metadata, or idp_entity_id, idp_sso_url and idp_certificate")),
);

const FILTER = "user_filter must be a filter that contains {username}, such as (uid={username})";

/** Settings of a directory. Design: §11 */
export const LdapSettings = v.pipe(
	v.strictObject(
		{
			url: v.pipe(
				Short,
				v.check(
					(text) => /^ldaps?:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text),
					refuse("url must be ldaps://host:port, or ldap://host:port with start_tls"),
				),
			),
			user_base_dn: Short,
			bind_dn: v.optional(Short),
			bind_password: v.optional(Short),
			user_filter: v.optional(v.pipe(Short, v.includes("{username}", refuse(FILTER))), "(uid={username})"),
			start_tls: v.optional(v.boolean(), false),
			ca_cert: CaCert,
			/** Attribute that identifies a person permanently. */
			id_attribute: v.optional(Short, "entryUUID"),
			email_attribute: v.optional(Short, "mail"),
			name_attribute: v.optional(Short, "cn"),
			group_base_dn: v.optional(Short),
			group_filter: v.optional(Short),
			...COMMON,
		},
		refuse("config has an unknown field for an ldap provider"),
	),
	v.check(
		({ url, start_tls }) => start_tls || isProtected(url, "ldaps:", "ldap:"),
		refuse("url must be ldaps://host:port, or ldap://host:port with start_tls"),
	),
);

/** Settings of one type as they are stored, but for the mappings: those have another form. */
export type OidcSettings = Omit<v.InferOutput<typeof OidcSettings>, "role_mappings">;
export type SamlSettings = Omit<v.InferOutput<typeof SamlSettings>, "role_mappings"> & {
	/** The key that signs our requests, made with the first settings and shown nowhere. Settings from before get one at the start. */
	request_key?: SigningCertificate;
};
export type LdapSettings = Omit<v.InferOutput<typeof LdapSettings>, "role_mappings">;

/** Settings that every provider has, as they are stored. */
export type CommonSettings = Pick<LdapSettings, Exclude<keyof typeof COMMON, "role_mappings">> & {
	role_mappings: readonly StoredMapping[];
};

/** Fields that are never shown. */
export const SECRET_FIELDS: readonly string[] = ["client_secret", "bind_password"];

const DisplayName = v.nullish(v.pipe(PlainText, atMost(255, "display_name")), "");

/** A provider as it is set. Design: §7.1 */
export const SetProvider = v.variant(
	"type",
	[
		v.object({ type: v.literal("oidc"), display_name: DisplayName, config: OidcSettings }),
		v.object({ type: v.literal("saml"), display_name: DisplayName, config: SamlSettings }),
		v.object({ type: v.literal("ldap"), display_name: DisplayName, config: LdapSettings }),
	],
	refuse(`type must be ${PROVIDER_TYPES.join(", ")}`),
);

export type SetProvider = v.InferOutput<typeof SetProvider>;
