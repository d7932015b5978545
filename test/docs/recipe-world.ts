import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { type Api, api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person, secret } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";
import { commandsOf } from "./console.ts";
import { fileOf, textOf } from "./markdown.ts";

const TIMEOUT_MS = 180_000;

/** The value of DB_URL in each environment of the realm `shop`. */
export const DB_URL = { staging: "postgres://staging", prod: "postgres://shop:hunter2@db.internal/shop" };

/** `false` where a process can have its own /run, else the reason to skip the test. */
export const skipWithoutMounts: string | false =
	spawnSync("unshare", ["--mount", "true"]).status === 0 ? false : "only root can mount a folder over /run";

/** A file that only the command sees: it has a /run of its own. */
interface Mounted {
	readonly path: string;
	readonly content: string;
}

/** A server with the realm `shop`, and a shell with `svc` at a machine of its own. */
export interface RecipeWorld extends AsyncDisposable {
	readonly client: Api;
	/** Admin of the realm. */
	readonly ada: Person;
	/** Variables that name the server and its certificate. */
	readonly server: Readonly<Record<"SVC_ADDRESS" | "SVC_FINGERPRINT", string>>;
	/** Working directory of the shell. */
	readonly home: string;
	/** Replaces the address and certificate that the pages name with this server's. */
	fill(variables: Readonly<Record<string, string>>): Record<string, string>;
	/** Runs a line in a shell. */
	shell(
		line: string,
		env?: Readonly<Record<string, string>>,
		mounted?: Mounted,
	): Promise<{ code: number | null; stdout: string; stderr: string }>;
	/** Runs a line as Ada; it must succeed. */
	asAda(line: string, env?: Readonly<Record<string, string>>): Promise<string>;
	/** Runs the command of a page with this beginning as Ada, with these words after it; it must succeed. */
	follow(page: string, beginning: string, more?: string, env?: Readonly<Record<string, string>>): Promise<void>;
}

/** Starts a world. @param env further variables of the server */
export async function startRecipeWorld(env: Readonly<Record<string, string>> = {}): Promise<RecipeWorld> {
	await using starting = new AsyncDisposableStack();
	const server = await startServer({ env });
	starting.defer(server.close);
	const client = api(server);
	const ada = await person(client, "ada");
	ok(await client.post("/realms", { slug: "shop", name: "Shop" }, { token: ada.token }), 201);
	for (const [environment, value] of Object.entries(DB_URL))
		await secret(client, ada, "shop", "DB_URL", value, { environment });
	const home = await mkdtemp(join(tmpdir(), "svc-recipe-"));
	starting.defer(() => rm(home, { recursive: true }));
	const certificate = join(home, "tls.crt");
	await writeFile(certificate, server.ca);
	const named = { SVC_ADDRESS: server.url, SVC_FINGERPRINT: new X509Certificate(server.ca).fingerprint256 };
	const shell = shellIn(home);
	const fill: RecipeWorld["fill"] = (variables) => {
		const put = (value: string) =>
			value
				.replace("https://secrets.example.com:8443", server.url)
				.replace(/^\$\{(?:\{ vars\.)?SVC_FINGERPRINT(?: \})?\}$/, named.SVC_FINGERPRINT)
				.replace("/etc/shop/tls.crt", certificate);
		return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, put(value)]));
	};
	const asAda: RecipeWorld["asAda"] = async (line, more = {}) => {
		const { code, stdout, stderr } = await shell(line, { ...named, SVC_TOKEN: ada.token, ...more });
		assert.equal(code, 0, `${line}: ${stderr}`);
		return stdout;
	};
	const follow: RecipeWorld["follow"] = async (page, beginning, words = "", more = {}) => {
		const command = commandsOf(textOf(page)).find(({ text }) => text.startsWith(beginning));
		assert.ok(command, `${page} has a command that begins with ${beginning}`);
		await asAda(`${command.text} ${words}`, more);
	};
	const ends = starting.move();
	return {
		...{ client, ada, server: named, home, fill, shell, asAda, follow },
		[Symbol.asyncDispose]: () => ends.disposeAsync(),
	};
}

/** Gives a shell its own /run with one file in it. Its arguments are the file's path and content, and the line to run. */
const WITH_FILE = `
	mount -t tmpfs tmpfs /run
	test /var/run -ef /run || mount -t tmpfs tmpfs /var/run
	mkdir -p "$(dirname "$1")"
	printf %s "$2" > "$1"
	chmod 0444 "$1"
	exec sh -ec "$3"`;

/** Runs lines in a shell whose environment is built from nothing. */
function shellIn(home: string): RecipeWorld["shell"] {
	const path = [
		fileOf("node_modules/.bin"),
		dirname(process.execPath),
		"/usr/local/bin",
		"/usr/sbin",
		"/usr/bin",
		"/bin",
	];
	return async (line, env = {}, mounted) => {
		const [program = "", ...args] = mounted
			? ["unshare", "--mount", "sh", "-ec", WITH_FILE, "sh", mounted.path, mounted.content, line]
			: ["sh", "-ec", line];
		const child = spawn(program, args, {
			cwd: home,
			env: { PATH: path.join(":"), HOME: home, LANG: "C.UTF-8", ...env },
			stdio: ["ignore", "pipe", "pipe"],
			timeout: TIMEOUT_MS,
			killSignal: "SIGKILL",
		});
		const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
		return { code: child.exitCode, stdout, stderr };
	};
}
