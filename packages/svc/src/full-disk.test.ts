import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type FakeServer, page, startFake } from "../../cli/src/testing/fake-server.ts";
import { LOGIN } from "../../cli/src/testing/provider.ts";
import { temporaryFolder } from "../../cli/src/testing/terminal.ts";

const MAIN = fileURLToPath(new URL("./bin.mjs", import.meta.url));
const SECRETS = [{ key: "KEY", value: "value", environment: "dev", version: 1, updated_at: "2030-01-01T00:00:00Z" }];

/** No file may grow beyond its first byte; pipes may. */
const NO_ROOM = "ulimit -f 0; exec";
/** Standard output that takes nothing. */
const FULL_OUTPUT = "exec >/dev/full; exec";

/** Commands that write, and the directory that has no room. */
const CASES: readonly (readonly [where: string, command: readonly string[]])[] = [
	[NO_ROOM, ["login", "ada@example.com", "--password-stdin"]],
	[NO_ROOM, ["register", "ada@example.com", "--password-stdin"]],
	[NO_ROOM, ["export", "--realm", "shop", "--output", "secrets.env"]],
	[NO_ROOM, ["backup", "download", "svc-20300101T000000000Z.db"]],
	[NO_ROOM, ["engine", "new", "voucher", "--lang", "sh"]],
	[FULL_OUTPUT, ["export", "--realm", "shop"]],
	[FULL_OUTPUT, ["secret", "get", "KEY", "--realm", "shop"]],
	[FULL_OUTPUT, ["secret", "list", "--realm", "shop"]],
	[FULL_OUTPUT, ["completion", "bash"]],
	[FULL_OUTPUT, ["help", "secret", "set"]],
];

let home: Awaited<ReturnType<typeof temporaryFolder>>;
let server: FakeServer;

before(async () => {
	home = await temporaryFolder();
	server = await startFake(
		({ url }) => {
			if (url.includes("/auth/")) return { body: { ...LOGIN, ...LOGIN.user } };
			if (url.endsWith("/backups")) return { body: { backups: [BACKUP] } };
			if (url.includes("/secrets/")) return { body: SECRETS[0] };
			return url.includes("/secrets") ? page("secrets", SECRETS) : page("realms", []);
		},
		{ plain: true },
	);
});
after(async () => {
	await server[Symbol.asyncDispose]();
	await home[Symbol.asyncDispose]();
});

const BACKUP = { name: "svc-20300101T000000000Z.db", sha256: "0".repeat(64), bytes: 1, created_at: "", events: 1 };

for (const [where, command] of CASES) {
	test(`svc ${command.join(" ")} on a full disk says so in one sentence, and leaves nothing half`, async () => {
		const env = { PATH: "/usr/bin:/bin", HOME: join(home.path, "home"), SVC_ADDRESS: server.address };
		const login = command.includes("--password-stdin") ? {} : { SVC_TOKEN: "svc_token" };
		const child = spawn("sh", ["-c", `${where} "$@"`, "sh", process.execPath, MAIN, ...command], {
			cwd: home.path,
			env: { ...env, ...login },
			timeout: 120_000,
		});
		child.stdin.end("a password for tests only\n");
		const ended = once(child, "close");
		const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
		await ended;
		assert.equal(child.exitCode, 1, stderr);
		assert.equal(stdout, "");
		assert.match(stderr, /^svc: [^\n]*(?:no space|ENOSPC|EFBIG|too large)[^\n]*\n(?:hint: [^\n]+\n)?$/i);
		const left = (await readdir(home.path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
		assert.deepEqual(left, []);
	});
}
