import { Failure } from "../../failure.ts";
import { type Io, setting, write } from "../../io/io.ts";
import { note, type Printer, visible } from "../../io/output.ts";
import type { Client } from "../client.ts";
import { type SavedMachineToken, saveMachineToken } from "../session.ts";
import { exchangeJwt, type MachineToken } from "./exchange.ts";
import { findJwtSource, type JwtSource, noJwt } from "./jwt.ts";
import type { MachineName } from "./machine-name.ts";

/** The machine account that a command uses. */
export interface MachineLogin {
	readonly machine: MachineName;
	/** True after `svc login --machine`: its token is used, even when there is no JWT any more. */
	readonly isSaved: boolean;
	/** The token of an earlier command. */
	readonly kept: SavedMachineToken | undefined;
}

/** A token in this process. */
interface Held extends MachineToken {
	/** When to get the next one, in milliseconds. */
	readonly renew_at: number;
}

/** State of one machine at one server, in this process. */
interface Holder {
	held?: Held;
	/** The exchange under way, shared by all that need its result. */
	pending?: Promise<string> | undefined;
	/** The failure that was already reported. */
	reported?: string | undefined;
}

/** Seconds of validity left below which a kept token is not used. */
const LEAST_LEFT_S = 60;
/** Share of its lifetime after which a token is renewed, and how much that varies, so that programs do not renew at the same time. */
const RENEWED_AFTER = 0.75;
const VARIES_BY = 0.1;

const holders = new WeakMap<Io, Map<string, Holder>>();

/**
 * Makes a client for a machine account. It gets a token, renews it before it expires, and replaces it once if the server refuses it.
 * @param client one without a token
 * @throws Failure when there is no JWT, or the server gives no token for it
 */
export async function asMachine(printer: Printer, client: Client, login: MachineLogin): Promise<Client> {
	const holder = holderOf(printer.io, `${client.address} ${spell(login.machine)}`);
	const renew = (refused: string): Promise<string> => {
		if (holder.held !== undefined && holder.held.token !== refused) return Promise.resolve(holder.held.token);
		return alone(holder, async () => (await exchange(printer.io, client, login, holder)).token);
	};
	return { ...client, token: await alone(holder, () => current(printer, client, login, holder)), renew };
}

/** Exchanges a JWT even if a token is kept, and keeps the new token. Returns it and the name of the JWT's source. */
export async function signInAsMachine(
	io: Io,
	client: Client,
	login: MachineLogin,
): Promise<Held & { readonly source: string }> {
	return exchange(io, client, login, holderOf(io, `${client.address} ${spell(login.machine)}`));
}

/** The audience of JWTs for a server: SVC_AUDIENCE, else the origin of its address. */
export function audienceFor(io: Io, address: string): string {
	return setting(io, "SVC_AUDIENCE") ?? new URL(address).origin;
}

/** `realm/name`. */
export function spell({ realm, name }: MachineName): string {
	return `${realm}/${name}`;
}

function holderOf(io: Io, key: string): Holder {
	const mine = holders.get(io) ?? new Map<string, Holder>();
	holders.set(io, mine);
	const holder = mine.get(key) ?? {};
	mine.set(key, holder);
	return holder;
}

/** Runs one exchange at a time. */
function alone(holder: Holder, get: () => Promise<string>): Promise<string> {
	holder.pending ??= get().finally(() => {
		holder.pending = undefined;
	});
	return holder.pending;
}

async function current(printer: Printer, client: Client, login: MachineLogin, holder: Holder): Promise<string> {
	const { held } = holder;
	if (held === undefined) return (await start(printer.io, client, login, holder)).token;
	if (Date.now() < held.renew_at) return held.token;
	try {
		const { token } = await exchange(printer.io, client, login, holder);
		holder.reported = undefined;
		return token;
	} catch (error) {
		if (!(error instanceof Failure) || Date.now() >= held.expires_at * 1000) throw error;
		if (holder.reported !== error.message)
			await note(printer, visible(`svc: the token is not renewed yet: ${error.message}`));
		holder.reported = error.message;
		return held.token;
	}
}

/** Returns the token that an earlier command kept for the same proof, or a new one. */
async function start(io: Io, client: Client, login: MachineLogin, holder: Holder): Promise<Held> {
	const { kept, isSaved } = login;
	if (kept === undefined || kept.expires_at - Date.now() / 1000 <= LEAST_LEFT_S)
		return exchange(io, client, login, holder);
	const source = await findJwtSource(io);
	const isOurs = source === undefined ? isSaved : source.proof === kept.proof;
	if (!isOurs) return exchange(io, client, login, holder, source);
	return hold(holder, kept);
}

async function exchange(
	io: Io,
	client: Client,
	{ machine }: MachineLogin,
	holder: Holder,
	found?: JwtSource,
): Promise<Held & { readonly source: string }> {
	const audience = audienceFor(io, client.address);
	const source = found ?? (await findJwtSource(io));
	if (source === undefined) throw noJwt(io, spell(machine), audience);
	const got = await exchangeJwt(client, machine, await source.read(audience), audience);
	// The runner masks this value, and never shows the line.
	if (setting(io, "GITHUB_ACTIONS") === "true") await write(io.stderr, `::add-mask::${got.token}\n`);
	// Where nothing can be kept, each command gets a token of its own.
	await saveMachineToken(io, client.address, spell(machine), { ...got, proof: source.proof }).catch(() => undefined);
	return { ...hold(holder, got), source: source.name };
}

function hold(holder: Holder, { token, expires_at }: MachineToken): Held {
	const now = Date.now();
	const part = RENEWED_AFTER * (1 + VARIES_BY * (2 * Math.random() - 1));
	holder.held = { token, expires_at, renew_at: now + (expires_at * 1000 - now) * part };
	return holder.held;
}
