import { chmod, mkdir, open } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { Failure } from "../failure.ts";
import { type Io, setting } from "../io/io.ts";
import { writePrivateFile } from "../io/private-file.ts";
import type { Trust } from "./certificate.ts";

/** Saved state of one server. */
export interface SavedServer {
	/** Absent while the authorities that the machine knows vouch for the server. */
	readonly trust?: Trust;
	/** Absent when nobody is logged in. */
	readonly token?: string;
	/** Expiry of the token in Unix seconds, from the server's answer to the login. */
	readonly expires_at?: number;
	readonly user?: { readonly id: string; readonly email: string; readonly name: string };
	/** The machine, as `realm/name`, of the latest `svc login --machine`; in place of a user's token. */
	readonly machine?: string;
	/** Tokens of machines, by `realm/name`. */
	readonly machines?: Readonly<Record<string, SavedMachineToken>>;
}

/** A token of a machine, got for a JWT. */
export interface SavedMachineToken {
	readonly token: string;
	/** Unix seconds. */
	readonly expires_at: number;
	/** Digest of what proved the machine: only a process with the same proof uses the token. */
	readonly proof: string;
}

/** State saved between commands. */
export interface Session {
	/** Address of the latest login or registration. */
	readonly current?: string;
	/** By address, so that a token goes only to the server that issued it. */
	readonly servers: Readonly<Record<string, SavedServer>>;
}

const FORMAT = 1;

/** Path of the session file: `svc/session.json` under `$XDG_CONFIG_HOME`, else `~/.config`. @throws Failure when neither is known */
export function sessionFile(io: Io): string {
	const xdg = setting(io, "XDG_CONFIG_HOME");
	const home = setting(io, "HOME");
	if (xdg !== undefined && isAbsolute(xdg)) return join(xdg, "svc", "session.json");
	if (home !== undefined && isAbsolute(home)) return join(home, ".config", "svc", "session.json");
	throw new Failure("failed", "there is no folder for the session file: neither HOME nor XDG_CONFIG_HOME is set", {
		hint: "set one of them, or use SVC_ADDRESS and SVC_TOKEN",
	});
}

/**
 * Reads the session file; an absent one is an empty session.
 * @throws Failure when others could read it, or it is not a session file
 */
export async function readSession(io: Io): Promise<Session> {
	if (!setting(io, "HOME") && !setting(io, "XDG_CONFIG_HOME")) return { servers: {} };
	const path = sessionFile(io);
	const file = await open(path).catch(absent);
	if (file === undefined) return { servers: {} };
	try {
		if ((await file.stat()).mode & 0o077) {
			throw new Failure("failed", `other users can read ${path}, so they may know the tokens in it`, {
				hint: `chmod 600 ${path}, then \`svc logout\` and \`svc login\` for a new token`,
			});
		}
		return parseSession(await file.readFile("utf8"), path);
	} finally {
		await file.close();
	}
}

/** Replaces the saved state of one server, and makes it the current one. @throws Failure or the system's error when the file cannot be written */
export async function saveServer(io: Io, address: string, server: SavedServer): Promise<void> {
	const { servers } = await readSession(io);
	await writeSession(io, { current: address, servers: { ...servers, [address]: server } });
}

/** Keeps a token of a machine in addition to everything else, and drops those that have ended. @throws as saveServer */
export async function saveMachineToken(
	io: Io,
	address: string,
	machine: string,
	token: SavedMachineToken,
): Promise<void> {
	const session = await readSession(io);
	const server = (Object.hasOwn(session.servers, address) ? session.servers[address] : undefined) ?? {};
	const others = Object.entries(server.machines ?? {}).filter(([, { expires_at }]) => expires_at * 1000 > Date.now());
	const machines = { ...Object.fromEntries(others), [machine]: token };
	await writeSession(io, { ...session, servers: { ...session.servers, [address]: { ...server, machines } } });
}

async function writeSession(io: Io, session: Session): Promise<void> {
	const path = sessionFile(io);
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	await chmod(dirname(path), 0o700);
	await writePrivateFile(path, `${JSON.stringify({ format: FORMAT, ...session }, null, "\t")}\n`);
}

function absent(error: NodeJS.ErrnoException): undefined {
	if (error.code !== "ENOENT") throw error;
}

function parseSession(text: string, path: string): Session {
	const damaged = () =>
		new Failure("failed", `${path} is not a session file of this version`, { hint: "remove it and log in again" });
	let content: Partial<Session> & { format?: unknown };
	try {
		content = JSON.parse(text);
	} catch {
		// Without the cause, which quotes the file and so tokens.
		throw damaged();
	}
	if (content?.format !== FORMAT || typeof content.servers !== "object" || content.servers === null) throw damaged();
	return { ...(content.current === undefined ? {} : { current: content.current }), servers: content.servers };
}
