import type { Command } from "commander";
import { type Answer, optional, text, whoOf } from "../client/answer.ts";
import { path, send, sendForReply } from "../client/client.ts";
import { connect, connectForEngine } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { REALM_OPTION, type RealmOptions, realmIfAny, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { note, show, showFields, showTable, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { confirmUnless } from "../io/prompt.ts";
import { ids, instants, states } from "../io/table.ts";
import { addResumeCommand, notePause } from "./lease-resume.ts";
import { addRevokeAllCommand } from "./lease-revoke-all.ts";

interface ListOptions extends RealmOptions {
	readonly allRealms?: boolean;
	readonly engine?: string;
	readonly state?: string;
}

/** Spec: ENGINES. Design: §9. */
const STATES = ["intent", "active", "uncertain", "revoking", "revoked", "aborted", "abandoned"];

interface AbandonOptions {
	readonly reason: string;
	readonly yes?: boolean;
}

/** Adds the commands of leases. */
export function addLeaseCommands(program: Command, io: Io): void {
	const lease = addGroup(program, "lease", "leases: the credentials that engines made, until they are revoked");
	addCommand<ListOptions>(lease, io, {
		usage: "list",
		summary: "list leases, the newest first",
		details: "Without a realm, the leases of all realms, for the instance's administrators.",
		options: [
			REALM_OPTION,
			option("--all-realms", "leases of all realms, even if SVC_REALM or .svc.toml names one").conflicts("realm"),
			option("--engine <type>", "of this engine"),
			option("--state <state>", "in this state").choices(STATES),
		],
		examples: ["svc lease list --realm shop --state active", "svc lease list --all-realms --state uncertain --json"],
		isList: true,
		run: listLeases,
	});
	addCommand<RealmOptions>(lease, io, {
		usage: "show <id>",
		summary: "show one lease",
		options: [REALM_OPTION],
		examples: ["svc lease show 0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d --realm shop"],
		run: showLease,
	});
	addCommand<RealmOptions>(lease, io, {
		usage: "revoke <id>",
		summary: "revoke a lease: its credential is deleted at its target",
		details: "When that system is away, the credential is deleted as soon as it returns.",
		options: [REALM_OPTION],
		examples: ["svc lease revoke 0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d --realm shop"],
		run: revokeLease,
	});
	addRevokeAllCommand(lease, io);
	addResumeCommand(lease, io);
	addCommand<AbandonOptions>(lease, io, {
		usage: "abandon <id>",
		summary: "abandon a lease that cannot be revoked: delete its credential by hand",
		details: "Only for the instance's administrators.",
		options: [
			option("--reason <text>", "reason, for the audit log").makeOptionMandatory(),
			option("--yes", "do not ask"),
		],
		examples: ['svc lease abandon 0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d --reason "the cluster is gone"'],
		run: abandonLease,
	});
}

async function listLeases(context: Context<ListOptions>): Promise<void> {
	const { allRealms, engine, state } = context.options;
	const realm = allRealms === true ? undefined : realmIfAny(context);
	const filter = { ...(engine === undefined ? {} : { engine }), ...(state === undefined ? {} : { state }) };
	const query = { ...filter, names: "true" };
	const list = realm === undefined ? "leases" : path`realms/${realm}/leases`;
	const client = await connect(context);
	const leases = await readAll(context, client, list, "leases", query);
	const failed = leases.some((lease) => optional(lease, "last_error") !== "");
	const lines = leases.map((lease) => [
		text(lease, "id"),
		...(realm === undefined ? [optional(lease, "realm")] : []),
		text(lease, "engine"),
		optional(lease, "role"),
		optional(lease, "name"),
		whoOf(lease, "user_id"),
		stateOf(lease),
		optional(lease, "expires_at"),
		...(failed ? [optional(lease, "last_error")] : []),
	]);
	const titles = [
		ids("ID"),
		...(realm === undefined ? ["REALM"] : []),
		...["ENGINE", "ROLE", "NAME", "FOR", states("STATE"), instants("EXPIRES")],
		...(failed ? ["LAST ERROR"] : []),
	];
	await showTable(context, { leases }, titles, lines, "no leases: `svc engine generate` makes one");
	if (leases.length > 0) await notePause(context, client);
}

/** State of a lease. One that another program altered is shown as that: nothing else that it says is certain. */
function stateOf(lease: Answer): string {
	const state = text(lease, "state");
	return lease.altered === true ? `${state}, altered` : state;
}

async function showLease(context: Context<RealmOptions>, id: string): Promise<void> {
	const realm = realmOf(context);
	const call = { method: "GET", path: path`realms/${realm}/leases/${id}`, query: { names: "true" } } as const;
	const lease = await send(await connect(context), call);
	await showFields(context, lease, [
		["id", text(lease, "id")],
		["engine", text(lease, "engine")],
		["role", optional(lease, "role")],
		["name", optional(lease, "name")],
		["state", stateOf(lease), "state"],
		["for", whoOf(lease, "user_id")],
		["created", text(lease, "created_at"), "instant"],
		["expires", optional(lease, "expires_at"), "instant"],
		["attempts", optional(lease, "attempts")],
		["last error", optional(lease, "last_error")],
	]);
}

const ACCEPTED = 202;

async function revokeLease(context: Context<RealmOptions>, id: string): Promise<void> {
	const realm = realmOf(context);
	const call = { method: "DELETE", path: path`realms/${realm}/leases/${id}` } as const;
	const client = await connectForEngine(context);
	const { status, answer } = await withProgress(context, "asking the engine", () => sendForReply(client, call));
	await show(context, answer, visible(text(answer, "message")));
	if (status === ACCEPTED)
		await note(context, visible(`\`svc lease show ${id} --realm ${realm}\` shows whether it is done`));
}

async function abandonLease(context: Context<AbandonOptions>, id: string): Promise<void> {
	const { reason } = context.options;
	const client = await connect(context);
	const question = `Abandon the lease ${visible(id)}? Its credential may stay valid at its target.`;
	await confirmUnless(context, question, { doing: "abandoning a lease", done: "abandoned" });
	const answer = await send(client, { method: "POST", path: path`leases/${id}/abandon`, body: { reason } });
	await show(context, answer, visible(text(answer, "message")));
}
