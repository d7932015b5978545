import type { Command } from "commander";
import type { Answer } from "../client/answer.ts";
import { path, send, sendForReply } from "../client/client.ts";
import { connectForEngine } from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import {
	CONNECTION_FORMATS,
	type ConnectionFormat,
	checkFormat,
	connectionUrl,
	connectionVariables,
	kubeconfigOf,
} from "../formats/connection-formats.ts";
import { lifetimesInHours } from "../input/duration.ts";
import {
	FIELD_OPTIONS,
	type FieldOptions,
	fieldsOf,
	parseParam,
	readFields,
	repeatable,
	SECRET_HELP,
} from "../input/fields.ts";
import { REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import { type Io, write } from "../io/io.ts";
import { note, showFields, toJson, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { shellLine } from "../io/shell-line.ts";

interface ParamOptions extends RealmOptions, FieldOptions {
	readonly param?: readonly string[];
	readonly set?: readonly string[];
}

interface GenerateOptions extends ParamOptions {
	readonly role?: string;
	readonly ttl?: string;
	readonly format?: ConnectionFormat;
}

const PARAM_HELP =
	'In --param name=value the value is a text, unless it is JSON in brackets or braces, such as \'san=["a.example","b.example"]\'.';

const PARAM_OPTIONS = [
	repeatable("--param <name=value>", "another parameter of the engine; may be given several times"),
	repeatable("--set <name=value>", "the same as --param"),
	...FIELD_OPTIONS,
];

/** Adds the commands that invoke an engine. */
export function addInvocationCommands(engine: Command, io: Io): void {
	addCommand<GenerateOptions>(engine, io, {
		usage: "generate <type>",
		summary: "create a credential, a certificate or a one-time password's secret, and print it once",
		details: `A credential ends with its lease. --json suits values of several lines, such as certificates, and adds the lease's id as lease_id.
--format prints what is needed to connect: url one address with user and password (keyvalue, documentdb, totp), env lines that a shell evaluates, kubeconfig a client configuration (containerorch).\n${PARAM_HELP}`,
		options: [
			REALM_OPTION,
			option("--role <role>", "role of the credential; each engine has its own roles"),
			option("--ttl <duration>", "how long it lives, such as 30m, 12h or 7d"),
			option("--format <format>", "print it as url, env, kubeconfig or json").choices(CONNECTION_FORMATS),
			...PARAM_OPTIONS,
		],
		examples: [
			"svc engine generate keyvalue --realm shop --role readonly --ttl 30m",
			"svc engine generate documentdb --realm shop --role readWrite --param database=shop",
			'eval "$(svc engine generate keyvalue --realm shop --format env)"',
			"(umask 077; svc engine generate containerorch --realm shop --role viewer --format kubeconfig > viewer.yaml)",
			"svc engine generate pki --realm shop --ttl 7d --param common_name=app.example.com --json",
		],
		run: generate,
	});
	addCommand<ParamOptions>(engine, io, {
		usage: "validate <type>",
		summary: "check a certificate or a one-time password, or revoke a credential by its name",
		details: `For engines that create users or service accounts, such as keyvalue, this revokes the credential.\n${PARAM_HELP}\n${SECRET_HELP}`,
		options: [REALM_OPTION, ...PARAM_OPTIONS],
		examples: [
			"svc engine validate totp --realm shop --secret secret --param code=123456",
			'svc engine validate pki --realm shop --param certificate="$(cat app.pem)"',
			"svc engine validate keyvalue --realm shop --param username=svc_1a2b3c4d",
		],
		run: validate,
	});
}

async function generate(context: Context<GenerateOptions>, type: string): Promise<void> {
	const { role, ttl, format, param = [], set = [] } = context.options;
	const realm = realmOf(context);
	if (format !== undefined) checkFormat(type, format);
	const client = await connectForEngine(context);
	const body = lifetimesInHours({
		...(await readFields(context, [...param, ...set], parseParam)),
		...(role === undefined ? {} : { role }),
		...(ttl === undefined ? {} : { ttl }),
	});
	const call = {
		method: "POST",
		path: path`realms/${realm}/engines/${type}/generate`,
		query: queryOf(format),
		body,
	} as const;
	const { answer, headers } = await withProgress(context, "asking the engine", () => sendForReply(client, call));
	const lease = headers["x-lease-id"];
	const made = lease === undefined ? answer : { ...answer, lease_id: String(lease) };
	if (format === undefined) await showFields(context, made, withoutImages(fieldsOf(made)));
	else await write(context.io.stdout, await formatted(type, made, format));
	if (lease !== undefined)
		await note(context, `\`svc lease revoke ${visible(String(lease))} --realm ${visible(realm)}\` ends it early`);
}

/** A terminal shows no image; the other fields hold the content of a QR code. */
function withoutImages(fields: [string, string][]): [string, string][] {
	return fields.map(([name, value]) => [name, /^data:image\//.test(value) ? "an image: --json has it" : value]);
}

function queryOf(format: ConnectionFormat | undefined): Record<string, string> {
	return format === undefined ? {} : { connection: "true" };
}

/** Exact, because programs read it: nothing is made visible. */
async function formatted(type: string, made: Answer, format: ConnectionFormat): Promise<string> {
	if (format === "url") return `${connectionUrl(type, made)}\n`;
	if (format === "kubeconfig") return kubeconfigOf(made);
	if (format === "json") return `${toJson(made)}\n`;
	return connectionVariables(type, made)
		.map(([name, value]) => shellLine(name, value))
		.join("");
}

async function validate(context: Context<ParamOptions>, type: string): Promise<void> {
	const realm = realmOf(context);
	const client = await connectForEngine(context);
	const { param = [], set = [] } = context.options;
	const body = await readFields(context, [...param, ...set], parseParam);
	const call = { method: "POST", path: path`realms/${realm}/engines/${type}/validate`, body } as const;
	const answer = await withProgress(context, "asking the engine", () => send(client, call));
	await showFields(context, answer, fieldsOf(answer));
}
