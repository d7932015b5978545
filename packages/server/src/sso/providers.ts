import { MASK } from "@svc/protocol";
import { eventBy } from "../audit/model.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { type EncryptionContext, openRecord, sealRecord } from "../crypto/seal.ts";
import { AppError } from "../errors.ts";
import type { AccessNeeds } from "../policy/authorize.ts";
import { requireInstanceAdmin } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmStore } from "../realms/model.ts";
import type { System } from "../system.ts";
import { type ProviderRow, type ProviderType, ProviderUnavailable, type SsoStore } from "./model.ts";
import type { Protocols, ServiceProvider } from "./protocols.ts";
import { createRequestKey } from "./request-key.ts";
import { keepMappings, showMappings } from "./role-mappings.ts";
import {
	type CommonSettings,
	type LdapSettings,
	type OidcSettings,
	type SamlSettings,
	SECRET_FIELDS,
	type SetProvider,
} from "./settings.ts";

/** Part of addresses that are registered elsewhere. */
const PROVIDER_NAME = /^[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?$/;

/** Dependencies of the rules of providers. */
export interface ProviderNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & { sso: SsoStore; realms: Pick<RealmStore, "access" | "named"> };
	system: System;
	keyring: Pick<Keyring, "record" | "recordFor">;
	protocols: Protocols;
	/** The address at which browsers and identity providers reach this server, without a slash at the end. */
	address(): string;
}

type Kind =
	| { type: "oidc"; settings: OidcSettings & CommonSettings }
	| { type: "saml"; settings: SamlSettings & CommonSettings }
	| { type: "ldap"; settings: LdapSettings & CommonSettings };

/** A provider, opened. */
export type Provider<Type extends ProviderType = ProviderType> = Omit<ProviderRow, "sealed" | "type"> & {
	is: Extract<Kind, { type: Type }>;
};

/** Health of a provider. */
interface ProviderStatus {
	status: "healthy" | "unhealthy";
	/** Reason why it does not work; empty when it does. */
	message: string;
}

/** A provider as shown: secrets masked. */
export interface ShownProvider {
	name: string;
	type: ProviderType;
	display_name: string;
	config: Record<string, unknown>;
}

/**
 * Sets a provider. It takes effect immediately; logins begun with the former settings must be begun again.
 * @throws AppError forbidden, insufficient_scope, missing_field, conflict when it was to be tried first and does not work
 * Design: §7.1, §11
 */
export async function setProvider(
	needs: ProviderNeeds,
	actor: Actor,
	name: string,
	input: SetProvider,
	is_tried: boolean,
): Promise<ShownProvider> {
	await requireInstanceAdmin(needs, actor, "write");
	if (!PROVIDER_NAME.test(name)) {
		throw new AppError("validation_failed", "a provider's name is 1 to 50 lower-case letters, digits and hyphens");
	}
	const former = await needs.store.sso.provider(name);
	const known: Record<string, unknown> & Pick<SamlSettings, "request_key"> =
		former === undefined ? {} : { ...(await openProvider(needs, former)).is.settings };
	const role_mappings = await keepMappings(needs, input.config.role_mappings);
	const config = { ...keepSecrets(input, known), role_mappings };
	const { type } = input;
	if (is_tried) await requireHealthy(needs, { type, settings: config } as unknown as Provider["is"]);
	const now = needs.system.now();
	const display_name = input.display_name || name;
	const row = {
		id: needs.system.uuid(),
		name,
		type,
		display_name,
		created_by: actor.user_id,
		created_at: now.toISOString(),
	};
	const sealed = await sealProvider(needs, row, { ...config, ...(await requestKey(needs, type, known)) });
	const event = eventBy(actor, now, "sso.provider.set", undefined, {
		provider: name,
		provider_id: row.id,
		provider_type: type,
	});
	await needs.store.sso.setProvider({ ...row, sealed }, event);
	await needs.protocols[type]();
	return { name, type, display_name, config: await showSettings(needs, config) };
}

/** Keeps the key that signs our requests to a SAML provider, as its certificate is registered there, or makes one. */
async function requestKey(
	{ system }: ProviderNeeds,
	type: ProviderType,
	{ request_key }: Pick<SamlSettings, "request_key">,
): Promise<Pick<SamlSettings, "request_key">> {
	if (type !== "saml") return {};
	if (request_key !== undefined) return { request_key };
	return { request_key: await createRequestKey(system) };
}

/** Seals the settings of a provider. */
export async function sealProvider(
	{ keyring, system }: { keyring: Pick<Keyring, "record">; system: Pick<System, "randomBytes"> },
	row: Pick<ProviderRow, "id" | "name" | "type">,
	settings: Pick<CommonSettings, "role_mappings">,
): Promise<Buffer> {
	const key = await keyring.record("");
	return sealRecord(key, providerContext(row), Buffer.from(JSON.stringify(settings)), system.randomBytes);
}

/** Settings that say where a provider is: a secret only goes where it was given for. */
const LOCATION: Readonly<Record<ProviderType, readonly string[]>> = {
	oidc: ["issuer", "ca_cert"],
	saml: [],
	ldap: ["url", "start_tls", "ca_cert"],
};

function keepSecrets({ type, config }: SetProvider, known: Record<string, unknown>): Record<string, unknown> {
	const given: Record<string, unknown> = config;
	const isElsewhere = LOCATION[type].some((name) => given[name] !== known[name]);
	const entries = Object.entries(given).map(([name, value]) => {
		const isKept = value === MASK && SECRET_FIELDS.includes(name);
		if (isKept && known[name] === undefined)
			throw new AppError("missing_field", `config.${name} is required: there is no stored value to keep`);
		if (isKept && isElsewhere)
			throw new AppError("missing_field", `config.${name} is required: ${LOCATION[type].join(" or ")} has changed`);
		return [name, isKept ? known[name] : value];
	});
	return Object.fromEntries(entries);
}

/** Shows settings as an administrator gave them, secrets masked. */
async function showSettings(
	needs: ProviderNeeds,
	settings: Pick<CommonSettings, "role_mappings">,
): Promise<Record<string, unknown>> {
	const given = Object.entries(settings).filter(([name]) => name !== "request_key");
	const entries = given.map(([name, value]) => [name, SECRET_FIELDS.includes(name) ? MASK : value]);
	return { ...Object.fromEntries(entries), role_mappings: await showMappings(needs, settings.role_mappings) };
}

/** Shows a provider, secrets masked. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function getProvider(needs: ProviderNeeds, actor: Actor, name: string): Promise<ShownProvider> {
	await requireInstanceAdmin(needs, actor, "read");
	const { display_name, is } = await findProvider(needs, name);
	return { name, type: is.type, display_name, config: await showSettings(needs, is.settings) };
}

/** Removes a provider. Its users keep their accounts and sessions. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function removeProvider(needs: ProviderNeeds, actor: Actor, name: string): Promise<void> {
	await requireInstanceAdmin(needs, actor, "delete");
	const event = eventBy(actor, needs.system.now(), "sso.provider.deleted", undefined, { provider: name });
	if (!(await needs.store.sso.removeProvider(name, event))) throw noProvider();
}

/** Tests whether a provider is reachable and answers. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function testProvider(needs: ProviderNeeds, actor: Actor, name: string): Promise<ProviderStatus> {
	await requireInstanceAdmin(needs, actor, "read");
	return statusOf(needs, (await findProvider(needs, name)).is);
}

async function statusOf(needs: ProviderNeeds, is: Provider["is"]): Promise<ProviderStatus> {
	try {
		if (is.type === "oidc") await (await needs.protocols.oidc()).test(is.settings);
		else if (is.type === "ldap") await (await needs.protocols.ldap()).test(is.settings);
		else await (await needs.protocols.saml()).test(is.settings, needs.system.now());
		return { status: "healthy", message: "" };
	} catch (error) {
		if (error instanceof ProviderUnavailable) return { status: "unhealthy", message: error.message };
		throw error;
	}
}

/** Requires that settings work which are not stored yet. @throws AppError conflict */
async function requireHealthy(needs: ProviderNeeds, is: Provider["is"]): Promise<void> {
	const { status, message } = await statusOf(needs, is);
	if (status === "unhealthy")
		throw new AppError("conflict", `the provider was not stored, because it does not work: ${message}`);
}

/** Lists the providers to sign in with. Spec: API › Accounts and login */
export async function listProviders(
	needs: Pick<ProviderNeeds, "store">,
): Promise<{ name: string; type: ProviderType; display_name: string }[]> {
	const rows = await needs.store.sso.providers();
	return rows.map(({ name, type, display_name }) => ({ name, type, display_name }));
}

/** This server as a SAML identity provider knows it. */
export function serviceProvider(
	{ address }: Pick<ProviderNeeds, "address">,
	name: string,
	settings: SamlSettings,
): ServiceProvider {
	const base = `${address()}/api/v1/auth/saml/${name}`;
	return { entity_id: settings.sp_entity_id ?? `${base}/metadata`, acs_url: `${base}/acs` };
}

/** Finds a provider of any type. @throws AppError not_found, internal_error when its row was altered */
async function findProvider(needs: Pick<ProviderNeeds, "store" | "keyring">, name: string): Promise<Provider> {
	const row = await needs.store.sso.provider(name);
	if (row === undefined) throw noProvider();
	return openProvider(needs, row);
}

/** Finds a provider of one type. @throws AppError not_found, internal_error when its row was altered */
export async function findProviderOf<Type extends ProviderType>(
	needs: Pick<ProviderNeeds, "store" | "keyring">,
	type: Type,
	name: string,
): Promise<Provider<Type>> {
	const provider = await findProvider(needs, name);
	if (provider.is.type !== type) throw noProvider();
	return provider as Provider<Type>;
}

function noProvider(): AppError {
	return new AppError("not_found", "provider not found: GET /api/v1/auth/providers lists the providers");
}

/** Opens the sealed settings of a provider. @throws AppError internal_error when the row was altered or moved */
export async function openProvider(
	{ keyring }: { keyring: Pick<Keyring, "recordFor"> },
	row: ProviderRow,
): Promise<Provider> {
	const { sealed, type, ...rest } = row;
	const key = await keyring.recordFor("", sealed);
	const bytes = key && openRecord(key, providerContext(row), sealed);
	if (bytes === undefined) {
		throw new AppError(
			"internal_error",
			"a provider's record cannot be opened: the database was altered or damaged; `svc doctor --deep` names all that do not open; restore a backup",
		);
	}
	return { ...rest, is: { type, settings: JSON.parse(bytes.toString()) } as Provider["is"] };
}

function providerContext({ id, name, type }: Pick<ProviderRow, "id" | "name" | "type">): EncryptionContext {
	return { label: "sso_provider.sealed", realm_id: "", environment: type, name, row_id: id };
}
