import { readFile } from "node:fs/promises";
import type { Option } from "commander";
import { type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { type Io, isInteractive, setting, write } from "../io/io.ts";
import { confirm } from "../io/prompt.ts";
import { DEFAULT_ADDRESS, parseAddress } from "./address.ts";
import { checkHandshake, fetchCertificate, fingerprintOf, parseFingerprint, type Trust } from "./certificate.ts";
import { type Client, createClient } from "./client.ts";
import { findCredential } from "./credential.ts";
import { certificateChanged, explainConnection } from "./failures.ts";
import { asMachine } from "./machine/machine-tokens.ts";
import { readSession, type SavedServer, saveServer } from "./session.ts";

/** The server of a command, and what is saved about it. */
export interface Target {
	readonly address: string;
	readonly saved: SavedServer;
}

/** Finds the server: --address, else SVC_ADDRESS, else that of the latest login, else the one on this machine. */
export async function findTarget({ io, options }: Context): Promise<Target> {
	const { current, servers } = await readSession(io);
	const address = parseAddress(options.address ?? setting(io, "SVC_ADDRESS") ?? current ?? DEFAULT_ADDRESS);
	return { address, saved: (Object.hasOwn(servers, address) ? servers[address] : undefined) ?? {} };
}

/** A logged-in client. @throws Failure denied when there is no token for the address */
export async function connect(context: Context): Promise<Client> {
	const target = await findTarget(context);
	const credential = await findCredential(context.io, target.saved);
	if (credential === undefined) throw notLoggedIn(target.address);
	if (credential.kind !== "machine") return connectTo(context, target, credential.token);
	return asMachine(context, await connectTo(context, target, undefined), credential);
}

/** Failure of a command that needs a token and has none. */
export function notLoggedIn(address: string): Failure {
	return new Failure("denied", `not logged in to ${address}`, {
		hint: "`svc login`, or set SVC_TOKEN or SVC_TOKEN_FILE, or SVC_MACHINE where the machine has a JWT",
	});
}

/** Milliseconds for a request that waits for an engine, which has up to 35 s to answer and may have to start. Design: §8. */
const ENGINE_TIMEOUT_MS = 60_000;

/** A logged-in client that waits as long as an engine may take. @throws Failure denied when there is no token for the address */
export async function connectForEngine(context: Context): Promise<Client> {
	return { ...(await connect(context)), timeoutMs: ENGINE_TIMEOUT_MS };
}

/** A client for one server, with or without a token. */
export async function connectTo(context: Context, target: Target, token: string | undefined): Promise<Client> {
	return createClient({ address: target.address, trust: await knownTrust(context, target), token });
}

/** A client for a server whose trust is settled. */
export function settledClient({ address, saved }: Target, token: string | undefined): Client {
	return createClient({ address, trust: saved.trust, token });
}

/** Options for deciding about a server's certificate. */
export interface NewTrustOptions {
	/** Trust whatever certificate the server presents. */
	readonly trustNewCertificate?: boolean;
}

/** The option of `NewTrustOptions`. */
export const TRUST_NEW: Option = option(
	"--trust-new-certificate",
	"trust whatever certificate the server presents, without asking",
);

/** A paragraph of the help of commands that settle the trust. */
export const FIRST_CONTACT =
	"svc remembers the server's certificate after you compare its fingerprint (or pass it with --fingerprint), and accepts no other from then on. A certificate from an authority that this machine trusts needs neither.";

/**
 * Decides whether to trust the server, asking if need be, and remembers the decision. Then contacts the server.
 * @returns the target with what is now saved about it
 * @throws Failure when nobody can be asked, the answer is no, the certificate is not the trusted one, or the server does not answer
 */
export async function settleTrust(context: Context<NewTrustOptions>, target: Target): Promise<Target> {
	const settled = target.address.startsWith("https:") ? await decideTrust(context, target) : target;
	await checkServer({ address: settled.address, trust: settled.saved.trust });
	return settled;
}

/** Checks that the trusted server answers, so that nobody types a password in vain. @throws Failure unreachable when it does not */
export function checkServer({ address, trust }: Pick<Client, "address" | "trust">): Promise<void> {
	return explained(address, trust, checkHandshake(new URL(address), trust));
}

async function decideTrust(context: Context<NewTrustOptions>, target: Target): Promise<Target> {
	const { io, options } = context;
	const given = await givenTrust(context, target.address);
	if (given !== undefined) return remember(io, target, given);
	if (target.saved.trust !== undefined && options.trustNewCertificate !== true) return target;
	const presented = await look(target.address);
	if (presented.doubt === undefined) return remember(io, target, undefined);
	if (options.trustNewCertificate !== true) await askForTrust(io, target.address, presented.fingerprint);
	return remember(io, target, { kind: "pinned", certificate: presented.certificate });
}

async function askForTrust(io: Io, address: string, fingerprint: string): Promise<void> {
	if (!isInteractive(io)) {
		throw new Failure(
			"unreachable",
			`the certificate of ${address} is not trusted yet; its SHA-256 fingerprint is ${fingerprint}`,
			{
				code: "certificate_untrusted",
				hint: "compare it with what the server printed when it started, then pass it with --fingerprint; or --trust-new-certificate",
			},
		);
	}
	await write(
		io.stderr,
		`No authority that this machine trusts signed the certificate of ${address}.\nThe SHA-256 fingerprint of its certificate is\n  ${fingerprint}\nCompare it with what the server printed when it started.\n`,
	);
	if (!(await confirm(io, "Trust this certificate from now on?"))) {
		throw new Failure("failed", "the certificate was not trusted; nothing was sent");
	}
}

async function remember(io: Io, { address, saved }: Target, trust: Trust | undefined): Promise<Target> {
	if (trust?.kind === saved.trust?.kind && trust?.certificate === saved.trust?.certificate) return { address, saved };
	// Nothing else is kept: another certificate may mean another server, which must not receive the old one's token.
	const updated = trust === undefined ? {} : { trust };
	await saveServer(io, address, updated);
	return { address, saved: updated };
}

async function knownTrust(context: Context, { address, saved }: Target): Promise<Trust | undefined> {
	return address.startsWith("https:") ? ((await givenTrust(context, address)) ?? saved.trust) : undefined;
}

/** Reads the trust that the command line or the environment sets; a flag overrides a variable. */
async function givenTrust({ io, options }: Context, address: string): Promise<Trust | undefined> {
	if (options.cacert !== undefined && options.fingerprint !== undefined) {
		throw new Failure("usage", "give either --cacert or --fingerprint");
	}
	const flagged = options.cacert !== undefined || options.fingerprint !== undefined;
	const cacert = flagged ? options.cacert : setting(io, "SVC_CACERT");
	const fingerprint = flagged ? options.fingerprint : setting(io, "SVC_FINGERPRINT");
	if (cacert !== undefined) return { kind: "authority", certificate: await readAuthority(cacert) };
	if (fingerprint === undefined) return undefined;
	const wanted = parseFingerprint(fingerprint);
	const presented = await look(address);
	if (presented.fingerprint !== wanted) throw certificateChanged(address, wanted, presented.fingerprint);
	return { kind: "pinned", certificate: presented.certificate };
}

async function readAuthority(file: string): Promise<string> {
	const text = await readFile(file, "utf8");
	try {
		fingerprintOf(text);
	} catch {
		throw new Failure("usage", "the file of --cacert or SVC_CACERT has no PEM certificate");
	}
	return text;
}

function look(address: string) {
	return explained(address, undefined, fetchCertificate(new URL(address)));
}

function explained<T>(address: string, trust: Trust | undefined, connecting: Promise<T>): Promise<T> {
	return connecting.catch(async (error: unknown) => {
		throw error instanceof Failure
			? error
			: await explainConnection({ address, trust, timeoutMs: 10_000 }, "GET", error);
	});
}
