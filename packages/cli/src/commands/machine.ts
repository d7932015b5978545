import type { Command } from "commander";
import { type Answer, emailOf, optional, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { findAt } from "../client/find.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { repeatable } from "../input/fields.ts";
import { ENVIRONMENTS, REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { note, show, showFields, showTable, visible } from "../io/output.ts";
import { confirmUnless } from "../io/prompt.ts";
import { instants, spare } from "../io/table.ts";
import { addMachineTokenCommands } from "./machine-token.ts";
import { addMachineTrustCommands } from "./machine-trust.ts";
import { reachText } from "./token.ts";

interface CreateOptions extends RealmOptions {
	readonly role: string;
	readonly scopes: string;
	readonly env?: string;
	readonly engine?: readonly string[];
	readonly description?: string;
	readonly change?: boolean;
}

interface DeleteOptions extends RealmOptions {
	readonly yes?: boolean;
}

const ROLES = ["viewer", "member", "admin"];

const CREATE_DETAILS = `A machine account belongs to the realm and stays when the person who made it leaves. It may do what its role, its scopes and its limits allow together, never manages anything, whatever its role, and sees no other realm. Its tokens have no limits of their own: they do what the machine may at that time.
With --env, it reads and writes the secrets of this environment and nothing else: no leases or events. With --engine, it creates and revokes those credentials and nothing else.
Only admins of the realm make and change machines, signed in, not with an API token.`;

/** Adds the commands of machine accounts. */
export function addMachineCommands(program: Command, io: Io): void {
	const machine = addGroup(program, "machine", "machine accounts of a realm, for programs and CI");
	addCommand<CreateOptions>(machine, io, {
		usage: "create <name>",
		summary: "create a machine account",
		details: CREATE_DETAILS,
		options: [
			REALM_OPTION,
			option("--role <role>", "viewer, member or admin").choices(ROLES).default("viewer"),
			option("--scopes <list>", "any of read, write and delete, separated by commas").default("read"),
			option("--env <name>", "only secrets of this environment").choices(ENVIRONMENTS),
			repeatable("--engine <type:role>", "only credentials of this role; with --env, both"),
			option("--description <text>", "its work, for people"),
			option("--change", "change the machine of this name; what you leave out gets its default"),
		],
		examples: [
			"svc machine create deploy --realm shop --env prod",
			"svc machine create cache --realm shop --role member --scopes read,write --engine keyvalue:readonly",
			"svc machine create deploy --realm shop --env staging --change",
		],
		run: createMachine,
	});
	addLookCommands(machine, io);
	addCommand<DeleteOptions>(machine, io, {
		usage: "delete <machine>",
		summary: "delete a machine account; its tokens end immediately and permanently",
		details: "Credentials that engines made for it live until they end: `svc lease list` shows them.",
		options: [REALM_OPTION, option("--yes", "do not ask")],
		examples: ["svc machine delete deploy --realm shop", "svc machine delete deploy --realm shop --yes"],
		run: deleteMachine,
	});
	addMachineTokenCommands(machine, io);
	addMachineTrustCommands(machine, io);
}

function addLookCommands(machine: Command, io: Io): void {
	addCommand<RealmOptions>(machine, io, {
		usage: "list",
		summary: "list the machine accounts of a realm",
		options: [REALM_OPTION],
		examples: ["svc machine list --realm shop"],
		isList: true,
		run: listMachines,
	});
	addCommand<RealmOptions>(machine, io, {
		usage: "show <machine>",
		summary: "show a machine account",
		options: [REALM_OPTION],
		examples: ["svc machine show deploy --realm shop"],
		run: showMachine,
	});
}

async function createMachine(context: Context<CreateOptions>, name: string): Promise<void> {
	const { role, scopes, env, engine = [], description, change } = context.options;
	const realm = realmOf(context);
	const client = await connect(context);
	const at = path`realms/${realm}/machines/${name}`;
	const isThere = (await findAt(client, at)) !== undefined;
	if (isThere && change !== true)
		throw new Failure("failed", `${realm} has a machine of this name: nothing was changed`, {
			hint: "--change gives it this role, these scopes and these limits",
		});
	const body = {
		role,
		scopes,
		...(env === undefined ? {} : { environment: env }),
		...(engine.length === 0 ? {} : { engines: engine }),
		...(description === undefined ? {} : { description }),
	};
	const answer = await send(client, { method: "PUT", path: at, body });
	const reach = `${text(answer, "scopes")}; ${reachOf(answer)}`;
	await show(context, answer, visible(`machine ${name} is ${text(answer, "role")} of ${realm} (${reach})`));
	if (!isThere)
		await note(
			context,
			visible(
				`\`svc machine token create ${name} --realm ${realm} --ttl 90d\` makes a token of it; \`svc machine trust add\` needs none`,
			),
		);
}

/** Names the environment and the roles of engines that a machine's limits leave it. */
function reachOf(machine: Answer): string {
	const { environment, engines } = machine;
	const roles = Array.isArray(engines) ? engines.map(String) : [];
	return reachText(typeof environment === "string" ? environment : undefined, roles);
}

async function listMachines(context: Context<RealmOptions>): Promise<void> {
	const realm = realmOf(context);
	const machines = await readAll(context, await connect(context), path`realms/${realm}/machines`, "machines");
	const lines = machines.map((machine) => [
		text(machine, "name"),
		text(machine, "role"),
		text(machine, "scopes"),
		reachOf(machine),
		text(machine, "created_at"),
		emailOf(machine, "created_by"),
		optional(machine, "description"),
	]);
	const titles = ["NAME", "ROLE", "SCOPES", "REACHES", instants("CREATED"), spare("MADE BY"), "DESCRIPTION"];
	await showTable(context, { machines }, titles, lines, "no machines yet: `svc machine create` makes one");
}

async function showMachine(context: Context<RealmOptions>, name: string): Promise<void> {
	const realm = realmOf(context);
	const machine = await send(await connect(context), { method: "GET", path: path`realms/${realm}/machines/${name}` });
	await showFields(context, machine, [
		["name", text(machine, "name")],
		["realm", realm],
		["role", text(machine, "role")],
		["scopes", text(machine, "scopes")],
		["reaches", reachOf(machine)],
		["description", optional(machine, "description")],
		["id", text(machine, "id")],
		["created by", emailOf(machine, "created_by")],
		["created", text(machine, "created_at"), "instant"],
	]);
}

async function deleteMachine(context: Context<DeleteOptions>, name: string): Promise<void> {
	const realm = realmOf(context);
	const client = await connect(context);
	const question = `Delete the machine ${visible(name)} of ${visible(realm)}? Its tokens end immediately.`;
	await confirmUnless(context, question, { doing: "deleting a machine", done: "deleted" });
	const answer = await send(client, { method: "DELETE", path: path`realms/${realm}/machines/${name}` });
	await show(context, answer, visible(text(answer, "message")));
}
