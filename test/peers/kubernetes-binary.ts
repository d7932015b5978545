import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const SOURCES = fileURLToPath(new URL("kubernetes", import.meta.url));
const CACHE = fileURLToPath(new URL("../../.cache/kubepeer", import.meta.url));

/** The means to start a Kubernetes: our own program, or a folder with kube-apiserver and etcd. Otherwise the reason why both are missing. */
export type Found = { readonly program: string } | { readonly assets: string } | { readonly missing: string };

/** Niceness of the build, which uses every core for some three minutes the first time. */
const PRIORITY = 10;
const LOCK_POLL_MS = 500;

// biome-ignore lint/style/noProcessEnv: settings of the test run itself; go needs its own
const env = process.env;

/** Finds a Kubernetes to start. Builds our own program first if necessary: it takes minutes, once. */
export async function findKubernetes(): Promise<Found> {
	const assets = env.KUBEBUILDER_ASSETS;
	if (assets !== undefined && existsSync(join(assets, "kube-apiserver"))) return { assets };
	const folder = join(CACHE, hashOfSources());
	const program = join(folder, "kubepeer");
	if (existsSync(program)) return { program };
	if (spawnSync("go", ["version"]).status !== 0) {
		return {
			missing: "neither go nor a kube-apiserver is there: install go (https://go.dev/dl), or set KUBEBUILDER_ASSETS",
		};
	}
	await mkdir(folder, { recursive: true });
	const failure = await alone(program, async () => (existsSync(program) ? undefined : build(program)));
	return failure === undefined ? { program } : { missing: `the Kubernetes peer could not be built: ${failure}` };
}

function hashOfSources(): string {
	const hash = createHash("sha256").update(`${process.platform} ${process.arch}\n`);
	for (const name of ["main.go", "go.mod", "go.sum"]) hash.update(readFileSync(join(SOURCES, name)));
	return hash.digest("hex").slice(0, 16);
}

/** @returns the last lines of the compiler's output if it failed */
async function build(program: string): Promise<string | undefined> {
	process.stderr.write("building the Kubernetes peer: once, about three minutes\n");
	const partial = `${program}.${process.pid}`;
	const child = spawn("go", ["build", "-trimpath", "-ldflags=-s -w", "-o", partial, "."], {
		cwd: SOURCES,
		env: { ...env, CGO_ENABLED: "0" },
		stdio: ["ignore", "ignore", "pipe"],
	});
	if (child.pid !== undefined) setPriority(child.pid, PRIORITY);
	const killWithTest = () => void child.kill();
	process.once("exit", killWithTest);
	let said = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		said = (said + text).slice(-1000);
	});
	const [code] = await once(child, "close");
	process.off("exit", killWithTest);
	if (code !== 0) return said.trim() || `go ended with ${code}`;
	await rename(partial, program);
	return undefined;
}

/** Runs work while no other process does. The lock is an abstract socket: any end of its owner frees it. */
async function alone<Result>(name: string, run: () => Promise<Result>): Promise<Result> {
	let lock = await take(name);
	while (lock === undefined) {
		await setTimeout(LOCK_POLL_MS);
		lock = await take(name);
	}
	try {
		return await run();
	} finally {
		lock.close();
	}
}

/** Returns undefined while another process has it. */
async function take(name: string): Promise<Server | undefined> {
	const server = createServer().listen(`\0${name}`);
	try {
		await once(server, "listening");
		return server;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
		throw error;
	}
}
