import type { Command } from "commander";
import { type Answer, isAnswer, object, optional, rows, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect, connectTo, findTarget } from "../client/connection.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import {
	FIELD_OPTIONS,
	type FieldOptions,
	FORCE,
	fieldsOf,
	fromFile,
	parseSetting,
	readChanges,
	readFrom,
	repeatable,
	SECRET_HELP,
	SETTING_HELP,
	settingsOf,
	triedFirst,
} from "../input/fields.ts";
import type { Io } from "../io/io.ts";
import { show, showFields, showTable, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { confirmUnless } from "../io/prompt.ts";

interface RemoveOptions {
	readonly yes?: boolean;
}

interface SetOptions extends FieldOptions {
	readonly type?: string;
	readonly displayName?: string;
	readonly set?: readonly string[];
	readonly force?: boolean;
}

const TYPES = ["oidc", "saml", "ldap"];

const ADMINISTRATORS = "Only for the instance's administrators.";

const SET_DETAILS = `${ADMINISTRATORS} The provider is tried first, and stored only when it works. A change takes effect immediately; anybody who is signing in at this moment has to start again.
Fields of oidc: issuer, client_id, client_secret; scopes, ca_cert, groups_claim. At the provider, register <base_url>/api/v1/auth/oidc/<name>/callback.
Fields of saml: idp_metadata, or idp_entity_id, idp_sso_url and idp_certificate; sp_entity_id, email_attribute, name_attribute, groups_attribute. At the provider, register what <base_url>/api/v1/auth/saml/<name>/metadata answers.
Fields of ldap: url, user_base_dn; bind_dn, bind_password, user_filter, start_tls, ca_cert, id_attribute, email_attribute, name_attribute, group_base_dn, group_filter.
Fields of all: auto_provision, allowed_domains, trusted_email_domains, role_mappings.
The settings are written as a whole: a field that is left out gets its default, and a secret that is given as ******** keeps its value. So what \`svc sso show --json\` prints can be changed and set again with --from.
${SETTING_HELP}
${SECRET_HELP}`;

/** Adds the commands of single sign-on providers. */
export function addSsoCommands(program: Command, io: Io): void {
	const sso = addGroup(program, "sso", "single sign-on: the identity providers that people can sign in at");
	addCommand(sso, io, {
		usage: "list",
		summary: "list the providers; needs no login",
		examples: ["svc sso list", "svc sso list --json"],
		isList: true,
		run: listProviders,
	});
	addCommand<SetOptions>(sso, io, {
		usage: "set <name>",
		summary: "create or change a provider",
		details: SET_DETAILS,
		options: [
			option("--type <type>", "oidc, saml or ldap; not needed when the file of --from says it").choices(TYPES),
			option("--display-name <text>", "what people see; the name by default"),
			repeatable("--set <field=value>", "a field; may be given several times"),
			fromFile("idp_metadata or ca_cert"),
			...FIELD_OPTIONS,
			FORCE,
		],
		examples: [
			"svc sso set corp --type oidc --set issuer=https://id.example.com --set client_id=svc --secret client_secret",
			"svc sso set corp --type saml --set-file idp_metadata=metadata.xml --set email_attribute=mail",
			"svc sso set directory --type ldap --set url=ldaps://ldap.example.com --set user_base_dn=ou=people,dc=example,dc=com",
			"svc sso set corp --from corp.json --set 'allowed_domains=[\"example.com\"]'",
		],
		run: setProvider,
	});
	addProviderCommands(sso, io);
}

function addProviderCommands(sso: Command, io: Io): void {
	addCommand(sso, io, {
		usage: "show <name>",
		summary: "show a provider's settings, secrets masked",
		details: ADMINISTRATORS,
		examples: ["svc sso show corp", "svc sso show corp --json > corp.json"],
		run: showProvider,
	});
	addCommand<RemoveOptions>(sso, io, {
		usage: "remove <name>",
		summary: "remove a provider; its users keep their accounts",
		details: ADMINISTRATORS,
		options: [option("--yes", "do not ask")],
		examples: ["svc sso remove corp", "svc sso remove corp --yes"],
		run: removeProvider,
	});
	addCommand(sso, io, {
		usage: "test <name>",
		summary: "check that a provider works; exits with 1 when it does not",
		details: ADMINISTRATORS,
		examples: ["svc sso test corp"],
		run: testProvider,
	});
}

async function listProviders(context: Context): Promise<void> {
	const client = await connectTo(context, await findTarget(context), undefined);
	const answer = await send(client, { method: "GET", path: "auth/providers" });
	const lines = rows(answer, "providers").map((provider) => [
		text(provider, "name"),
		text(provider, "type"),
		text(provider, "display_name"),
	]);
	await showTable(context, answer, ["NAME", "TYPE", "DISPLAY NAME"], lines, "no providers: `svc sso set` adds one");
}

async function setProvider(context: Context<SetOptions>, name: string): Promise<void> {
	const client = await connect(context);
	const [query, body] = [triedFirst(context.options), await readProvider(context)];
	const call = { method: "PUT", path: path`auth/providers/${name}`, query, body } as const;
	await showSettings(context, await withProgress(context, "trying the provider", () => send(client, call)));
}

/** A file holds the fields of config, or a whole provider as shown. */
async function readProvider(context: Context<SetOptions>): Promise<object> {
	const { set = [], ...options } = context.options;
	const file = await readFrom(context);
	const known: Answer = isAnswer(file.config) ? file : { config: file };
	const type = options.type ?? known.type;
	if (type === undefined)
		throw new Failure("usage", "the provider's type is not given", { hint: "--type oidc, saml or ldap" });
	const changes = await readChanges(context, set, parseSetting);
	const display_name = options.displayName ?? known.display_name;
	return { type, display_name, config: { ...object(known, "config"), ...changes } };
}

async function showProvider(context: Context, name: string): Promise<void> {
	const client = await connect(context);
	await showSettings(context, await send(client, { method: "GET", path: path`auth/providers/${name}` }));
}

async function showSettings(context: Context, answer: Answer): Promise<void> {
	const { config: _, ...rest } = answer;
	await showFields(context, answer, [...fieldsOf(rest), ...settingsOf(object(answer, "config"))]);
}

async function removeProvider(context: Context<RemoveOptions>, name: string): Promise<void> {
	const client = await connect(context);
	const words = { doing: "removing a provider", done: "removed" };
	await confirmUnless(context, `Remove the provider ${visible(name)}? Nobody can sign in with it any more.`, words);
	const answer = await send(client, { method: "DELETE", path: path`auth/providers/${name}` });
	await show(context, answer, visible(text(answer, "message")));
}

async function testProvider(context: Context, name: string): Promise<void> {
	const call = { method: "POST", path: path`auth/providers/${name}/test` } as const;
	const client = await connect(context);
	const answer = await withProgress(context, "trying the provider", () => send(client, call));
	const status = text(answer, "status");
	await show(context, answer, visible(status));
	if (status === "healthy") return;
	throw new Failure("failed", optional(answer, "message") || "the provider does not work", {
		code: "unhealthy",
		hint: "`svc sso show` shows the settings, `svc sso set` changes them",
	});
}
