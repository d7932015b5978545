import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Document, MongoClient } from "mongodb";
import { freePort } from "./free-port.ts";

const START_TIMEOUT_MS = 120_000;
/** Making the environment downloads about 50 MB, once for each checkout of the repository. */
const PREPARE_TIMEOUT_MS = 900_000;

const SECANTUS = [join(import.meta.dirname, "mongo_peer.py"), resolve(import.meta.dirname, "../../.cache/secantus")];

/** A server that somebody else runs, given as an administrator's connection string. */
// biome-ignore lint/style/noProcessEnv: the tests have no configuration of their own
const foreignUri = process.env.SVC_TEST_MONGODB_URI;
const hasMongod = spawnSync("mongod", ["--version"]).status === 0;

/** A MongoDB-wire server in which users and roles count. SecantusDB runs with the option to end the logins of dropped users, as mongod does. */
export interface Mongo {
	/** Tells whether somebody else runs it: then tests cannot pause it, and its users may be somebody else's. */
	readonly isForeign: boolean;
	/** An administrator's connection string. */
	readonly uri: string;
	/** host:port of the first host. */
	readonly address: string;
	/** Runs one command as the administrator. Rejects with the driver's own error. */
	admin(database: string, command: Document): Promise<Document>;
	/** Returns the names of the users in the database. */
	users(database?: string): Promise<string[]>;
	/** Pauses the process: connections are accepted, but nothing is answered. */
	pause(): void;
	resume(): void;
	stop(): Promise<void>;
}

/** Prepares the program for `startMongo`. @returns `false`, or the reason to skip the test */
export async function skipWithoutMongo(): Promise<string | false> {
	if (foreignUri !== undefined || hasMongod) return false;
	const child = spawn("python3", [...SECANTUS, "--prepare"], { stdio: "pipe", timeout: PREPARE_TIMEOUT_MS });
	let written = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		written += text;
	});
	const code = await new Promise((settle) => child.once("error", settle).once("close", settle));
	return code === 0
		? false
		: `mongod is not installed, nor SecantusDB, which needs apt-get install python3-venv: ${written.trim().split("\n").at(-1) ?? code}`;
}

/** Starts the server of SVC_TEST_MONGODB_URI, else a mongod from PATH, else SecantusDB. @throws Error with its output when it does not start */
export async function startMongo(): Promise<Mongo> {
	if (foreignUri !== undefined) return handle(foreignUri, undefined, async () => undefined);
	return hasMongod ? startMongod() : startSecantus();
}

async function startSecantus(): Promise<Mongo> {
	const child = launch("python3", [...SECANTUS, "--revoke-live"]);
	const [line] = /.*\}/.exec(await written(child, "}")) ?? [];
	const { uri } = JSON.parse(line ?? "{}") as { uri: string };
	return handle(uri, child, () => end(child));
}

async function startMongod(): Promise<Mongo> {
	const folder = await mkdtemp(join(tmpdir(), "svc-mongod-"));
	const address = `127.0.0.1:${await freePort()}`;
	const port = address.slice(address.indexOf(":") + 1);
	const child = launch("mongod", ["--dbpath", folder, "--port", port, "--bind_ip", "127.0.0.1", "--auth"]);
	await written(child, "Waiting for connections");
	const password = randomBytes(16).toString("hex");
	// Anybody on the same machine may make the first user.
	const nobody = new MongoClient(`mongodb://${address}/`);
	await nobody.db("admin").command({ createUser: "root", pwd: password, roles: ["root"] });
	await nobody.close();
	return handle(`mongodb://root:${password}@${address}`, child, async () => {
		await end(child);
		await rm(folder, { recursive: true });
	});
}

function handle(uri: string, child: ChildProcess | undefined, stop: () => Promise<void>): Mongo {
	const client = new MongoClient(uri);
	const admin = (database: string, command: Document) => client.db(database).command(command);
	return {
		isForeign: child === undefined,
		uri,
		address: /^[^/]*:\/\/(?:[^@]*@)?([^,/?]+)/.exec(uri)?.[1] ?? "",
		admin,
		users: async (database = "admin") => {
			const { users } = await admin(database, { usersInfo: 1 });
			return users.map(({ user }: Document) => String(user));
		},
		pause: () => void child?.kill("SIGSTOP"),
		resume: () => void child?.kill("SIGCONT"),
		stop: async () => {
			await client.close();
			await stop();
		},
	};
}

function launch(command: string, args: string[]): ChildProcess {
	const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
	const killWithTest = () => void child.kill("SIGKILL");
	process.once("exit", killWithTest);
	child.once("exit", () => process.off("exit", killWithTest));
	return child;
}

/** Returns the output of the process once it contains the text. */
function written(child: ChildProcess, text: string): Promise<string> {
	return new Promise((found, reject) => {
		let all = "";
		const silence = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
		child.once("close", () => {
			clearTimeout(silence);
			reject(new Error(`the peer did not start: ${all}`));
		});
		const read = (part: string) => {
			all += part;
			if (!all.includes(text)) return;
			clearTimeout(silence);
			found(all);
		};
		child.stdout?.setEncoding("utf8").on("data", read);
		child.stderr?.setEncoding("utf8").on("data", read);
	});
}

/** Kills the process: a paused one takes no other signal. Nothing of it is kept, so it need not end in good order. */
async function end(child: ChildProcess): Promise<void> {
	const closed = once(child, "close");
	child.kill("SIGKILL");
	await closed;
}
