import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { freePort } from "./free-port.ts";

/** Folder of Debian's packages: one of each version, which is not on PATH. */
const PACKAGES = "/usr/lib/postgresql";

const PROGRAMS = programs();

/** Milliseconds between two checks that the server takes connections. */
const LOOK_EVERY_MS = 10;

/** `false` where PostgreSQL is installed, else the reason to skip the test. */
export const skipWithoutPostgres: string | false =
	PROGRAMS === undefined ? "postgresql is not installed: apt-get install postgresql" : false;

/** Settings of a server whose data nobody needs after the test: a power cut may take all of it. */
const FAST = [
	"fsync=off",
	"full_page_writes=off",
	"synchronous_commit=off",
	"wal_level=minimal",
	"max_wal_senders=0",
	"max_connections=500",
];

/** A real PostgreSQL on loopback, which asks for no password. */
export interface Postgres {
	readonly host: string;
	readonly port: number;
	/** Its superuser. */
	readonly user: string;
	/** Ends it as a crash does: its sessions are cut, and it recovers at the next start. */
	crash(): Promise<void>;
	/** Starts it again after a crash, and waits until it takes connections. */
	start(): Promise<void>;
	/** Stops it and removes its folder. */
	stop(): Promise<void>;
}

/** Options of a server. */
export interface PostgresOptions {
	/** Settings, `name=value`. */
	readonly settings?: readonly string[];
	/** Its certificate and key, in PEM: it then takes TLS. */
	readonly identity?: { readonly cert: string; readonly key: string };
	/** Lines of pg_hba.conf, in place of one that lets everybody in. */
	readonly access?: readonly string[];
	/** A server that it is a standby of, and the name by which that one knows it. */
	readonly standby_of?: { readonly primary: Postgres; readonly name: string };
}

/** Settings of a server that standbys may follow, and that keeps what it has answered. */
export const REPLICATED = ["wal_level=replica", "max_wal_senders=5", "synchronous_commit=on"];

/** Starts a PostgreSQL in a temporary folder, and waits until it takes connections. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
	const owner = ownerOfServer();
	const directory = await mkdtemp(join(tmpdir(), "svc-postgres-"));
	await chmod(directory, 0o700);
	await chown(directory, owner.uid, owner.gid);
	const data = join(directory, "data");
	makeData(directory, data, owner, options);
	const own = [...(await writeFiles(data, owner, options)), ...followed(options)];
	const port = await freePort();
	const args = ["-D", data, "-p", String(port), ...settings(directory, [...own, ...(options.settings ?? [])])];
	let child: ChildProcess | undefined;
	const start = async () => {
		child = launch(directory, args, owner);
		while (!isReady(port, directory)) {
			if (child.exitCode !== null) throw new Error("postgres has ended before it took connections");
			await setTimeout(LOOK_EVERY_MS);
		}
	};
	const crash = async () => {
		if (child === undefined) return;
		const ended = once(child, "exit");
		// Ends the sessions that are open, and makes no checkpoint.
		child.kill("SIGQUIT");
		child = undefined;
		await ended;
	};
	await start();
	return {
		host: "127.0.0.1",
		port,
		user: "svc",
		crash,
		start,
		async stop() {
			await crash();
			await rm(directory, { recursive: true });
		},
	};
}

/** Makes the folder of a server's data: an empty one, or a copy of the server that it follows. */
function makeData(
	directory: string,
	data: string,
	owner: { uid: number; gid: number },
	{ standby_of }: PostgresOptions,
): void {
	const init = ["initdb", "-D", data, "-A", "trust", "-U", "svc", "--locale=C.UTF-8", "-E", "UTF8", "-N"];
	const place = ["-h", "127.0.0.1", "-p", String(standby_of?.primary.port), "-U", "svc"];
	const copy = ["pg_basebackup", "-D", data, ...place, "-c", "fast", "-N", "-X", "stream", "-R"];
	const [program = "", ...args] = standby_of === undefined ? init : copy;
	const made = spawnSync(join(PROGRAMS ?? "", program), args, { ...owner, cwd: directory, encoding: "utf8" });
	if (made.status !== 0) throw new Error(`${program} failed: ${made.stderr}`);
}

/** Names the settings of a standby. */
function followed({ standby_of }: PostgresOptions): string[] {
	if (standby_of === undefined) return [];
	const { primary, name } = standby_of;
	return [`primary_conninfo=host=${primary.host} port=${primary.port} user=${primary.user} application_name=${name}`];
}

/** Writes the files of the options. @returns the settings that name them */
async function writeFiles(
	data: string,
	owner: { uid: number; gid: number },
	{ identity, access }: PostgresOptions,
): Promise<string[]> {
	const write = async (name: string, text: string) => {
		const file = join(data, name);
		await writeFile(file, text, { mode: 0o600 });
		await chown(file, owner.uid, owner.gid);
	};
	if (access !== undefined) await write("pg_hba.conf", access.map((line) => `${line}\n`).join(""));
	if (identity === undefined) return [];
	await Promise.all([write("server.crt", identity.cert), write("server.key", identity.key)]);
	return ["ssl=on"];
}

/** Creates a database. @returns its address */
export function createDatabase({ host, port, user }: Postgres, name: string): string {
	const place = ["-h", host, "-p", String(port), "-U", user];
	const made = spawnSync(join(PROGRAMS ?? "", "createdb"), [...place, name], { encoding: "utf8" });
	if (made.status !== 0) throw new Error(`createdb failed: ${made.stderr}`);
	return addressOf({ host, port, user }, name);
}

/** Runs statements as the superuser. @returns the value of a single one */
export function runSql(postgres: Postgres, database: string, text: string): string {
	return psql(postgres, database, ["-c", text], "");
}

/** Runs a script with commands of psql, too. */
export function runScript(postgres: Postgres, database: string, script: string): void {
	psql(postgres, database, ["-f", "-"], script);
}

function psql({ host, port, user }: Postgres, database: string, what: string[], input: string): string {
	const place = ["-h", host, "-p", String(port), "-U", user, "-d", database];
	const options = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", ...what];
	const ran = spawnSync(join(PROGRAMS ?? "", "psql"), [...place, ...options], { encoding: "utf8", input });
	if (ran.status !== 0) throw new Error(`psql failed: ${ran.stderr}`);
	return ran.stdout.trim();
}

/** Names a database of a server. */
export function addressOf({ host, port, user }: Pick<Postgres, "host" | "port" | "user">, database: string): string {
	return `postgres://${user}@${host}:${port}/${database}`;
}

function settings(directory: string, more: readonly string[]): string[] {
	const own = ["shared_buffers=32MB", "listen_addresses=127.0.0.1", `unix_socket_directories=${directory}`];
	const all = [...FAST, ...own, ...more];
	return all.flatMap((setting) => ["-c", setting]);
}

function launch(directory: string, args: string[], owner: { uid: number; gid: number }): ChildProcess {
	const child = spawn(join(PROGRAMS ?? "", "postgres"), args, { ...owner, cwd: directory, stdio: "ignore" });
	const killWithTest = () => void child.kill("SIGQUIT");
	process.once("exit", killWithTest);
	child.once("exit", () => process.off("exit", killWithTest));
	return child;
}

/** Tells whether a client gets in: while the server starts, it answers and lets nobody in. */
function isReady(port: number, directory: string): boolean {
	const look = ["-h", "127.0.0.1", "-p", String(port), "-q"];
	return spawnSync(join(PROGRAMS ?? "", "pg_isready"), look, { cwd: directory }).status === 0;
}

/** PostgreSQL refuses to run as root: the package's own user then owns the files and the process. */
export function ownerOfServer(): { uid: number; gid: number } {
	const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
	if (uid !== 0) return { uid, gid };
	const number = (flag: string) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
	return { uid: number("-u"), gid: number("-g") };
}

/** Finds the newest version's programs. */
function programs(): string | undefined {
	if (!existsSync(PACKAGES)) return undefined;
	const versions = readdirSync(PACKAGES).toSorted((one, other) => Number(other) - Number(one));
	return versions.map((version) => join(PACKAGES, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}
