import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createClient } from "redis";
import { freePort } from "./free-port.ts";

const START_TIMEOUT_MS = 120_000;

/** `false` where Redis is installed, else the reason to give for a skipped test. */
export const skipWithoutRedis: string | false =
	spawnSync("redis-server", ["--version"]).status === 0 ? false : "redis-server is not installed";

const FIXTURES = resolve(import.meta.dirname, "../../packages/cli/src/fixtures");

/** Files of a certificate for 127.0.0.1 that signed itself, which the TLS of a test's Redis uses, and of another one. */
export const CERTIFICATES = {
	own: join(FIXTURES, "first-certificate.pem"),
	own_key: join(FIXTURES, "first-key.pem"),
	other: join(FIXTURES, "second-certificate.pem"),
};

/** How a test's Redis is set up. */
export interface RedisOptions {
	/** A free one when it is left out. */
	readonly port?: number;
	/** Whether `ACL SAVE` keeps the users over a restart. */
	readonly aclfile?: boolean;
	/** Where it keeps its files; a temporary folder, removed at the end, when it is left out. */
	readonly directory?: string;
	/** Whether it speaks nothing but TLS. */
	readonly tls?: boolean;
}

/** Somebody who is logged in. */
export interface RedisSession {
	/** Sends one command. Rejects with Redis's own error. */
	send(...command: string[]): Promise<unknown>;
	/** Settles when the connection has ended, by whatever cause. */
	readonly ended: Promise<void>;
	end(): void;
}

/** A real Redis on loopback whose default user has a password. */
export interface Redis {
	readonly port: number;
	/** host:port */
	readonly address: string;
	/** Of the default user, who may do everything. */
	readonly password: string;
	/** Logs in over a connection of its own. Not with TLS. */
	login(username: string, password: string): Promise<RedisSession>;
	/** One command of the default user. */
	admin(...command: string[]): Promise<unknown>;
	/** Names of all users but the default one. */
	users(): Promise<string[]>;
	/** Holds the process: connections are accepted, and nothing is answered. */
	pause(): void;
	resume(): void;
	/** Ends it without warning, as a power cut would. */
	kill(): Promise<void>;
	/** Starts it again on the same port and files after `kill`. */
	start(): Promise<void>;
	/** Ends it in good order and starts it again. */
	restart(): Promise<void>;
	/** Ends it and removes its temporary folder. */
	stop(): Promise<void>;
}

/**
 * Starts a Redis and waits until it takes connections.
 * @throws Error with what it wrote when it ends first or stays silent for 10 s
 */
export async function startRedis(options: RedisOptions = {}): Promise<Redis> {
	const port = options.port ?? (await freePort());
	const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "svc-redis-")));
	const password = randomBytes(16).toString("hex");
	const aclfile = join(directory, "users.acl");
	if (options.aclfile === true) await writeFile(aclfile, `user default on >${password} ~* &* +@all\n`);
	const config = configuration(
		options,
		port,
		directory,
		options.aclfile === true ? `aclfile ${aclfile}` : `requirepass ${password}`,
	);
	let child = await launch(config);
	const end = (signal: NodeJS.Signals) => endProcess(child, signal);
	const start = async () => {
		child = await launch(config);
	};
	const login = (username: string, secret: string) => openSession(port, username, secret);
	const admin = async (...command: string[]) => {
		const session = await login("default", password);
		return session.send(...command).finally(session.end);
	};
	return {
		port,
		address: `127.0.0.1:${port}`,
		password,
		login,
		admin,
		users: async () => ((await admin("ACL", "USERS")) as string[]).filter((name) => name !== "default"),
		pause: () => void child.kill("SIGSTOP"),
		resume: () => void child.kill("SIGCONT"),
		kill: () => end("SIGKILL"),
		start,
		restart: async () => {
			await end("SIGTERM");
			await start();
		},
		stop: async () => {
			await end("SIGKILL");
			if (options.directory === undefined) await rm(directory, { recursive: true });
		},
	};
}

/** It is read from standard input, so that no process list shows the password. */
function configuration(options: RedisOptions, port: number, directory: string, access: string): string {
	const files = `tls-cert-file ${CERTIFICATES.own}\ntls-key-file ${CERTIFICATES.own_key}\ntls-auth-clients no`;
	const listen = options.tls === true ? ["port 0", `tls-port ${port}`, files] : [`port ${port}`];
	return ["bind 127.0.0.1", ...listen, `dir ${directory}`, 'save ""', access, ""].join("\n");
}

async function launch(config: string): Promise<ChildProcess> {
	const child = spawn("redis-server", ["-"], { stdio: ["pipe", "pipe", "pipe"] });
	const killWithTest = () => void child.kill("SIGKILL");
	process.once("exit", killWithTest);
	child.once("exit", () => process.off("exit", killWithTest));
	child.stdin.end(config);
	await ready(child);
	return child;
}

function ready(child: ChildProcess): Promise<void> {
	return new Promise((resolve, reject) => {
		let written = "";
		const silence = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
		child.once("close", () => {
			clearTimeout(silence);
			reject(new Error(`redis-server did not start: ${written}`));
		});
		const read = (text: string) => {
			written = (written + text).slice(-4096);
			if (!written.includes("Ready to accept connections")) return;
			clearTimeout(silence);
			resolve();
		};
		child.stdout?.setEncoding("utf8").on("data", read);
		child.stderr?.setEncoding("utf8").on("data", read);
	});
}

/** One that is held takes no other signal than these. */
async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const ended = once(child, "close");
	child.kill(signal);
	child.kill("SIGCONT");
	await ended;
}

async function openSession(port: number, username: string, password: string): Promise<RedisSession> {
	const client = createClient({ username, password, socket: { host: "127.0.0.1", port, reconnectStrategy: false } });
	const ended = Promise.withResolvers<void>();
	client.on("error", () => ended.resolve());
	client.on("end", () => ended.resolve());
	await client.connect();
	return {
		send: (...command) => client.sendCommand(command),
		ended: ended.promise,
		end: () => {
			if (client.isOpen) client.destroy();
		},
	};
}
