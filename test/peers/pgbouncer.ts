import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { ownerOfServer, type Postgres } from "./postgres.ts";

/** Debian installs it where not every PATH looks. */
const PROGRAM = "/usr/sbin/pgbouncer";

/** `false` where PgBouncer is installed, else the reason to skip the test. */
export const skipWithoutPgBouncer: string | false =
	spawnSync(PROGRAM, ["--version"]).status === 0 ? false : "pgbouncer is not installed: apt-get install pgbouncer";

/** A real PgBouncer on loopback. */
export interface PgBouncer {
	readonly port: number;
	stop(): Promise<void>;
}

/** Starts a pooler in front of a server, and waits until it takes connections. */
export async function startPgBouncer(
	{ host, port: target, user }: Postgres,
	pool_mode: "session" | "transaction" | "statement",
): Promise<PgBouncer> {
	const owner = ownerOfServer();
	const directory = await mkdtemp(join(tmpdir(), "svc-pgbouncer-"));
	await chown(directory, owner.uid, owner.gid);
	const port = await freePort();
	const [settings, users] = [join(directory, "pgbouncer.ini"), join(directory, "users")];
	const lines = [
		...["[databases]", `* = host=${host} port=${target}`, "[pgbouncer]"],
		...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir ="],
		...["auth_type = trust", `auth_file = ${users}`, `pool_mode = ${pool_mode}`],
	];
	for (const [file, text] of [
		[settings, lines.join("\n")],
		[users, `"${user}" ""`],
	] as const) {
		await writeFile(file, `${text}\n`, { mode: 0o600 });
		await chown(file, owner.uid, owner.gid);
	}
	const child = spawn(PROGRAM, ["--quiet", settings], { ...owner, cwd: directory, stdio: "ignore" });
	const killWithTest = () => void child.kill("SIGKILL");
	process.once("exit", killWithTest);
	const ended = once(child, "exit");
	while (!(await takesConnections(port))) {
		if (child.exitCode !== null) throw new Error("pgbouncer has ended before it took connections");
		await setTimeout(10);
	}
	return {
		port,
		async stop() {
			process.off("exit", killWithTest);
			child.kill("SIGKILL");
			await ended;
			await rm(directory, { recursive: true });
		},
	};
}

function takesConnections(port: number): Promise<boolean> {
	const socket = connect(port, "127.0.0.1");
	return once(socket, "connect").then(
		() => Boolean(socket.destroy()),
		() => false,
	);
}
