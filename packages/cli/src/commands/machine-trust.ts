import type { Command } from "commander";
import { type Answer, emailOf, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { show, showFields, showTable, visible } from "../io/output.ts";
import { confirmUnless } from "../io/prompt.ts";
import { instants, spare } from "../io/table.ts";
import { addTrustAddCommands } from "./machine-trust-add.ts";
import { claimsText } from "./trust-claims.ts";

interface RemoveOptions extends RealmOptions {
	readonly yes?: boolean;
}

/** Adds the commands of machines' trusts. */
export function addMachineTrustCommands(machine: Command, io: Io): void {
	const trust = addGroup(machine, "trust", "issuers whose JWTs let workloads in as a machine");
	addTrustAddCommands(trust, io);
	addCommand<RealmOptions>(trust, io, {
		usage: "list <machine>",
		summary: "list a machine's trusts",
		options: [REALM_OPTION],
		examples: ["svc machine trust list deploy --realm shop"],
		isList: true,
		run: listTrusts,
	});
	addCommand<RealmOptions>(trust, io, {
		usage: "show <machine> <trust>",
		summary: "show a trust of a machine",
		options: [REALM_OPTION],
		examples: ["svc machine trust show deploy github --realm shop"],
		run: showTrust,
	});
	addCommand<RemoveOptions>(trust, io, {
		usage: "remove <machine> <trust>",
		summary: "remove a trust; the tokens that it gave end immediately",
		options: [REALM_OPTION, option("--yes", "do not ask")],
		examples: [
			"svc machine trust remove deploy github --realm shop",
			"svc machine trust remove deploy github --realm shop --yes",
		],
		run: removeTrust,
	});
}

const issuerOf = (trust: Answer) =>
	typeof trust.issuer === "string" ? trust.issuer : `spiffe://${text(trust, "trust_domain")}`;

async function listTrusts(context: Context<RealmOptions>, machine: string): Promise<void> {
	const realm = realmOf(context);
	const at = path`realms/${realm}/machines/${machine}/trusts`;
	const trusts = await readAll(context, await connect(context), at, "trusts");
	const lines = trusts.map((trust) => [
		text(trust, "name"),
		text(trust, "type"),
		issuerOf(trust),
		claimsText(trust),
		text(trust, "max_ttl"),
		text(trust, "created_at"),
		emailOf(trust, "created_by"),
	]);
	const titles = ["NAME", "TYPE", "ISSUER", "CLAIMS", "MAX TTL", instants("CREATED"), spare("MADE BY")];
	await showTable(context, { trusts }, titles, lines, "no trusts yet: `svc machine trust add` makes one");
}

async function showTrust(context: Context<RealmOptions>, machine: string, name: string): Promise<void> {
	const realm = realmOf(context);
	const at = path`realms/${realm}/machines/${machine}/trusts/${name}`;
	const trust = await send(await connect(context), { method: "GET", path: at });
	const keys = typeof trust.keys_host === "string" ? `fetched from ${trust.keys_host}` : "given";
	await showFields(context, trust, [
		["name", text(trust, "name")],
		["machine", `${realm}/${machine}`],
		["type", text(trust, "type")],
		["issuer", issuerOf(trust)],
		["audience", text(trust, "audience")],
		["claims", claimsText(trust)],
		["keys", keys],
		["a JWT is used", trust.single_use === true ? "once" : "until it ends"],
		["max ttl", text(trust, "max_ttl")],
		["id", text(trust, "id")],
		["created by", emailOf(trust, "created_by")],
		["created", text(trust, "created_at"), "instant"],
	]);
}

async function removeTrust(context: Context<RemoveOptions>, machine: string, name: string): Promise<void> {
	const realm = realmOf(context);
	const client = await connect(context);
	const question = `Remove the trust ${visible(name)} of ${visible(`${realm}/${machine}`)}? The tokens that it gave end immediately.`;
	await confirmUnless(context, question, { doing: "removing a trust", done: "removed" });
	const at = path`realms/${realm}/machines/${machine}/trusts/${name}`;
	const answer = await send(client, { method: "DELETE", path: at });
	await show(context, answer, visible(text(answer, "message")));
}
