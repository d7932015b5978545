import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createClient } from "redis";
import { freePort } from "./free-port.ts";

const START_TIMEOUT_MS = 120_000;

/** `false` where Redis is installed, else the reason to skip the test. */
export const skipWithoutRedis: string | false =
	spawnSync("redis-server", ["--version"]).status === 0
		? false
		: "redis-server is not installed: apt-get install redis-server";

const FIXTURES = resolve(import.meta.dirname, "../../packages/cli/src/fixtures");

/** Files of a self-signed certificate for 127.0.0.1, which a test's Redis uses for TLS, and of another one. */
export const CERTIFICATES = {
	own: join(FIXTURES, "first-certificate.pem"),
	own_key: join(FIXTURES, "first-key.pem"),
	other: join(FIXTURES, "second-certificate.pem"),
};

/** Options of a test's Redis. */
export interface RedisOptions {
	/** The port; a free one by default. */
	readonly port?: number;
	/** Tells whether `ACL SAVE` keeps the users over a restart. */
	readonly aclfile?: boolean;
	/** The folder of its files; by default a temporary one, removed at the end. */
	readonly directory?: string;
	/** Tells whether it speaks only TLS. */
	readonly tls?: boolean;
}

/** A session of a logged-in user. */
export interface RedisSession {
	/** Sends one command. Rejects with Redis's own error. */
	send(...command: string[]): Promise<unknown>;
	/** Settles when the connection has ended, for any reason. */
	readonly ended: Promise<void>;
	end(): void;
}

/** A real Redis on loopback whose default user has a password. */
export interface Redis {
	readonly port: number;
	/** host:port */
	readonly address: string;
	/** Password of the default user, who may do everything. */
	readonly password: string;
	/** Logs in on a new connection. Does not work with TLS. */
	login(username: string, password: string): Promise<RedisSession>;
	/** Runs one command as the default user. */
	admin(...command: string[]): Promise<unknown>;
	/** Returns the names of all users except the default one. */
	users(): Promise<string[]>;
	/** Pauses the process: connections are accepted, but nothing is answered. */
	pause(): void;
	resume(): void;
	/** Kills it without warning, as a power cut would. */
	kill(): Promise<void>;
	/** Starts it again after `kill`, on the same port and files. */
	start(): Promise<void>;
	/** Stops it in good order and starts it again. */
	restart(): Promise<void>;
	/** Stops it and removes its temporary folder. */
	stop(): Promise<void>;
}

/**
 * Starts a Redis and waits until it takes connections.
 * @throws Error with its output when it ends first or stays silent for 10 s
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

/** Makes the configuration, which Redis reads from standard input so that no process list shows the password. */
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

/** Ends the process. A paused one needs SIGCONT to react to the signal. */
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
