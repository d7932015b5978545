import { X509Certificate } from "node:crypto";
import type { Command } from "commander";
import { optional, text } from "../client/answer.ts";
import { fetchCertificate } from "../client/certificate.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { listAll } from "../client/pages.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { parseDuration } from "../input/duration.ts";
import type { Io } from "../io/io.ts";
import { note, showTable, visible } from "../io/output.ts";
import { type Report, withProgress } from "../io/progress.ts";
import { instants } from "../io/table.ts";

interface ExpiringOptions {
	readonly within: string;
	readonly realm?: string;
}

/** Something that has an end. */
interface Ending {
	readonly kind: "secret" | "token" | "machine token" | "authority" | "certificate";
	/** The secret's key, the name of the token or trust, for a machine's with the machine's, or the server's address. */
	readonly name: string;
	readonly realm: string | null;
	readonly environment: string | null;
	readonly expires_at: string;
}

/** Adds the command that shows what ends soon. */
export function addExpiringCommand(program: Command, io: Io): void {
	addCommand<ExpiringOptions>(program, io, {
		usage: "expiring",
		summary: "show secrets, tokens of yours and of machines, and certificates that end soon or have ended",
		details:
			"svc looks at the secrets and machine accounts of every realm that you see, your API tokens, and the certificate that the server presents. Of machines, it looks at their tokens and at the authorities that their trusts name for an issuer (--ca-cert). Only admins of a realm see its machines; their tokens that a trust gave, or that ended over 30 days ago, are left out. What you may not read is named on standard error, and in `unseen` with --json.",
		options: [
			option("--within <duration>", "how soon, such as 12h or 30d").default("14d"),
			option("--realm <slug>", "only the secrets and machines of this realm"),
		],
		examples: ["svc expiring", "svc expiring --within 30d --realm shop --json"],
		isList: true,
		run: showExpiring,
	});
}

async function showExpiring(context: Context<ExpiringOptions>): Promise<void> {
	const { within, realm } = context.options;
	const latest_ms = Date.now() + parseDuration("--within", within);
	const client = await connect(context);
	const unseen: string[] = [];
	const all = await withProgress(context, "looking for what ends", (report) => findAll(client, realm, unseen, report));
	const expiring = all
		.filter(({ expires_at }) => Date.parse(expires_at) <= latest_ms)
		.sort((one, other) => Date.parse(one.expires_at) - Date.parse(other.expires_at));
	const lines = expiring.map((row) => [row.expires_at, row.kind, row.name, row.realm ?? "", row.environment ?? ""]);
	const titles = [instants("ENDS"), "WHAT", "NAME", "REALM", "ENV"];
	await showTable(context, { expiring, unseen }, titles, lines, `nothing ends within ${within}`);
	if (unseen.length > 0)
		await note(context, visible(`not checked, because you may not read them: ${unseen.join(", ")}`));
}

/** Finds everything that has an end, in one realm or in all. @param unseen gets the names of what the caller may not see */
async function findAll(
	client: Client,
	realm: string | undefined,
	unseen: string[],
	report: Report,
): Promise<readonly Ending[]> {
	const realms = realm === undefined ? await realmsOf(client) : [realm];
	const all: Ending[] = [];
	for (const [index, slug] of realms.entries()) {
		report(`${index + 1}/${realms.length}`);
		all.push(...(await orUnseen(secretsOf(client, slug), `secrets of ${slug}`, realm === undefined, unseen)));
		all.push(...(await orUnseen(machinesOf(client, slug), `machines of ${slug}`, true, unseen)));
	}
	all.push(...(await orUnseen(tokensOf(client), "your tokens", true, unseen)), ...(await certificateOf(client)));
	return all;
}

/** Results of a search; none, and its name in `unseen`, when the caller may not see them. */
async function orUnseen(
	found: Promise<Ending[]>,
	name: string,
	isOptional: boolean,
	unseen: string[],
): Promise<Ending[]> {
	try {
		return await found;
	} catch (error) {
		// A realm that was deleted meanwhile answers 404.
		if (!isOptional || !(error instanceof Failure) || ![403, 404].includes(error.status)) throw error;
		unseen.push(name);
		return [];
	}
}

async function realmsOf(client: Client): Promise<string[]> {
	const realms = await Array.fromAsync(listAll(client, "realms", "realms"));
	return realms.map((realm) => text(realm, "slug"));
}

async function secretsOf(client: Client, realm: string): Promise<Ending[]> {
	const found: Ending[] = [];
	for await (const secret of listAll(client, path`realms/${realm}/secrets`, "secrets", { values: "false" })) {
		if (secret.expires_at === null) continue;
		const [name, environment] = [text(secret, "key"), text(secret, "environment")];
		found.push({ kind: "secret", name, realm, environment, expires_at: text(secret, "expires_at") });
	}
	return found;
}

/** Milliseconds after its end for which a machine's token is shown. The server lists those of people as long. */
const SHOWN_MS = 30 * 24 * 60 * 60 * 1000;

async function machinesOf(client: Client, realm: string): Promise<Ending[]> {
	const found: Ending[] = [];
	for await (const machine of listAll(client, path`realms/${realm}/machines`, "machines")) {
		const name = text(machine, "name");
		const place = { realm, environment: machine.environment === null ? null : text(machine, "environment") };
		found.push(...(await machineTokensOf(client, name, place)), ...(await authoritiesOf(client, name, place)));
	}
	return found;
}

type Place = Pick<Ending, "environment"> & { readonly realm: string };

async function machineTokensOf(client: Client, machine: string, place: Place): Promise<Ending[]> {
	const found: Ending[] = [];
	for await (const token of listAll(client, path`realms/${place.realm}/machines/${machine}/tokens`, "tokens")) {
		const expires_at = text(token, "expires_at");
		// One that a trust gave lives for an hour, and the next one comes by itself.
		if (text(token, "created_by") === "" || Date.parse(expires_at) < Date.now() - SHOWN_MS) continue;
		const name = `${machine} ${text(token, "name") || text(token, "prefix")}`;
		found.push({ kind: "machine token", name, ...place, expires_at });
	}
	return found;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Authorities for whose issuers a machine's trusts ask: without them, the server fetches no keys. */
async function authoritiesOf(client: Client, machine: string, place: Place): Promise<Ending[]> {
	const found: Ending[] = [];
	const trusts = path`realms/${place.realm}/machines/${machine}/trusts`;
	for await (const { name: trust, keys_host } of listAll(client, trusts, "trusts")) {
		if (keys_host === null) continue;
		const whole = await send(client, { method: "GET", path: `${trusts}/${encodeURIComponent(String(trust))}` });
		for (const [certificate] of optional(whole, "ca_cert").matchAll(CERTIFICATE))
			found.push({ kind: "authority", name: `${machine} ${trust}`, ...place, expires_at: endOf(certificate) });
	}
	return found;
}

const endOf = (certificate: string | Buffer) => new X509Certificate(certificate).validToDate.toISOString();

async function tokensOf(client: Client): Promise<Ending[]> {
	const found: Ending[] = [];
	for await (const token of listAll(client, "auth/tokens", "tokens")) {
		if (token.expires_at === null) continue;
		const reach = { realm: null, environment: token.environment === null ? null : text(token, "environment") };
		found.push({ kind: "token", name: text(token, "name"), ...reach, expires_at: text(token, "expires_at") });
	}
	return found;
}

async function certificateOf({ address }: Client): Promise<Ending[]> {
	const url = new URL(address);
	if (url.protocol !== "https:") return [];
	const { certificate } = await fetchCertificate(url);
	return [{ kind: "certificate", name: address, realm: null, environment: null, expires_at: endOf(certificate) }];
}
