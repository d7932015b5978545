import type { Command } from "commander";
import { optional, rows, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect, connectForEngine } from "../client/connection.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { lifetimesInHours } from "../input/duration.ts";
import {
	FIELD_OPTIONS,
	type FieldOptions,
	FORCE,
	fromFile,
	parseSetting,
	readFields,
	repeatable,
	SECRET_HELP,
	SETTING_HELP,
	settingsOf,
	triedFirst,
} from "../input/fields.ts";
import type { RealmOptions } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { note, show, showFields, showTable, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { confirmUnless } from "../io/prompt.ts";
import { addInvocationCommands } from "./engine-invoke.ts";

interface RemoveOptions extends RealmOptions {
	readonly yes?: boolean;
}

interface SetOptions extends RealmOptions, FieldOptions {
	readonly set?: readonly string[];
	readonly allowRealm?: readonly string[];
	readonly force?: boolean;
}

const ADMINISTRATORS = "Only for the instance's administrators.";
/** Not SVC_REALM: settings for all realms must not be confused with those for one. */
const ONE_REALM = option(
	"--realm <slug>",
	"the realm's own configuration; without it, the one of all realms that have none",
);

const SET_DETAILS = `${ADMINISTRATORS} The configuration is tried first, and stored only when the engine works with it; otherwise the earlier one stays in effect. A change takes effect immediately.
The configuration of all realms serves those that --allow-realm names, and no other.
The configuration is written as a whole: a field that is left out gets its default, and a secret that is given as ******** keeps its value, unless the field changes that says where it is sent. So what \`svc engine show --json\` prints can be changed and set again with --from.
${SETTING_HELP}
${SECRET_HELP}`;

/** Adds the commands of engines. */
export function addEngineCommands(program: Command, io: Io): void {
	const engine = addGroup(program, "engine", "engines, which make credentials, certificates and one-time passwords");
	addCommand(engine, io, {
		usage: "list",
		summary: "list the engines",
		examples: ["svc engine list", "svc engine list --json"],
		isList: true,
		run: listEngines,
	});
	addInvocationCommands(engine, io);
	addConfigurationCommands(engine, io);
}

function addConfigurationCommands(engine: Command, io: Io): void {
	addCommand<SetOptions>(engine, io, {
		usage: "set <type>",
		summary: "configure an engine",
		details: SET_DETAILS,
		options: [
			ONE_REALM,
			repeatable(
				"--allow-realm <slug>",
				"a realm that may use it; may be given several times, '*' alone means every realm",
			),
			repeatable("--set <field=value>", "a field; may be given several times"),
			fromFile("ca_cert or ca_private_key"),
			...FIELD_OPTIONS,
			FORCE,
		],
		examples: [
			"svc engine set keyvalue --allow-realm shop --set address=redis.internal:6379 --set tls=true --secret password",
			"svc engine set documentdb --realm shop --set database=shop --secret connection_uri < uri",
			"svc engine set pki --allow-realm shop --allow-realm blog --set-file ca_certificate=ca.pem --set-file ca_private_key=ca.key",
		],
		run: setConfiguration,
	});
	addCommand<RealmOptions>(engine, io, {
		usage: "show <type>",
		summary: "show an engine's configuration, secrets masked, and its status",
		details: ADMINISTRATORS,
		options: [ONE_REALM],
		examples: ["svc engine show keyvalue", "svc engine show keyvalue --realm shop --json"],
		run: showConfiguration,
	});
	addCommand<RemoveOptions>(engine, io, {
		usage: "remove <type>",
		summary: "remove an engine's configuration; credentials made with it can still be revoked",
		details: ADMINISTRATORS,
		options: [ONE_REALM, option("--yes", "do not ask")],
		examples: ["svc engine remove keyvalue --realm shop", "svc engine remove keyvalue --yes"],
		run: removeConfiguration,
	});
	addCommand<RealmOptions>(engine, io, {
		usage: "ping <type>",
		summary: "check that an engine and the system behind it work",
		details: ADMINISTRATORS,
		options: [option("--realm <slug>", "with the configuration that this realm uses")],
		examples: ["svc engine ping keyvalue", "svc engine ping keyvalue --realm shop"],
		run: pingEngine,
	});
}

async function listEngines(context: Context): Promise<void> {
	const answer = await send(await connect(context), { method: "GET", path: "engines" });
	const lines = rows(answer, "engines").map((engine) => [
		text(engine, "type"),
		[engine.capabilities].flat().join(", "),
		text(engine, "description"),
	]);
	await showTable(context, answer, ["TYPE", "CAPABILITIES", "DESCRIPTION"], lines, "no engines");
}

function configPath(type: string, { realm }: RealmOptions): string {
	return realm === undefined ? path`engines/${type}/config` : path`realms/${realm}/engines/${type}/config`;
}

async function setConfiguration(context: Context<SetOptions>, type: string): Promise<void> {
	const { options } = context;
	if (options.realm !== undefined && options.allowRealm !== undefined)
		throw new Failure("usage", "--allow-realm is for the configuration of all realms, --realm for one");
	const client = await connectForEngine(context);
	// The status belongs to the answer; you may leave it in when you set again what was shown.
	const { status: _, ...given } = await readFields(context, options.set ?? [], parseSetting);
	const fields = lifetimesInHours(given);
	const body = options.allowRealm === undefined ? fields : { ...fields, allowed_realms: options.allowRealm };
	const query = triedFirst(options);
	const call = { method: "PUT", path: configPath(type, options), query, body } as const;
	const answer = await withProgress(context, "trying the configuration", () => send(client, call));
	await showFields(context, answer, settingsOf(answer));
	if (!optional(answer, "status").startsWith("healthy"))
		await note(context, "the configuration is stored, but the engine does not work with it: see its status");
}

async function showConfiguration(context: Context<RealmOptions>, type: string): Promise<void> {
	const call = { method: "GET", path: configPath(type, context.options) } as const;
	const answer = await send(await connectForEngine(context), call);
	await showFields(context, answer, settingsOf(answer));
}

async function removeConfiguration(context: Context<RemoveOptions>, type: string): Promise<void> {
	const client = await connect(context);
	const { realm } = context.options;
	const whose = visible(realm === undefined ? "of all realms without their own" : `of the realm ${realm}`);
	const words = { doing: "removing a configuration", done: "removed" };
	await confirmUnless(context, `Remove the configuration of ${visible(type)} ${whose}?`, words);
	const answer = await send(client, { method: "DELETE", path: configPath(type, context.options) });
	await show(context, answer, visible(text(answer, "message")));
}

async function pingEngine(context: Context<RealmOptions>, type: string): Promise<void> {
	const { realm } = context.options;
	const query = realm === undefined ? {} : { realm };
	const call = { method: "POST", path: path`engines/${type}/ping`, query } as const;
	const client = await connectForEngine(context);
	const answer = await withProgress(context, "asking the engine", () => send(client, call));
	await show(context, answer, visible(text(answer, "status")));
}
