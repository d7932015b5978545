import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runCli } from "@svc/cli";
import { type FakeServer, page, startFake } from "../../cli/src/testing/fake-server.ts";
import { fakeIo, temporaryFolder } from "../../cli/src/testing/terminal.ts";
import { LOCAL_COMMANDS } from "./local-commands.ts";

const MAIN = fileURLToPath(new URL("./bin.mjs", import.meta.url));
const REALMS = [{ slug: "shop" }, { slug: "stock" }, { slug: "$(touch pwned)" }, { slug: "two words" }, { slug: "-x" }];
const MACHINES = [{ name: "deploy" }, { name: "cache" }];
const KEYS = [{ key: "DB_URL" }, { key: "DB_PASSWORD" }, { key: "`touch pwned`" }, { key: "@files" }];

/** Text up to the cursor, and the words offered for its last one. */
const LINES: readonly (readonly [typed: string, offered: readonly string[]])[] = [
	["svc se", ["secret", "server", "session", "set"]],
	["svc secret ro", ["rollback"]],
	["svc secret set --rea", ["--realm"]],
	["svc --json secret set --comm", ["--comment"]],
	["svc secret list --env ", ["dev", "prod", "staging", "test"]],
	["svc secret list --env=p", ["prod"]],
	["svc secret list --realm shop --env=prod --sh", ["--show-values"]],
	["svc lease list --state re", ["revoked", "revoking"]],
	["svc sso set corp --type o", ["oidc"]],
	["svc binding add 0190d1c4 m", ["member"]],
	["svc engine generate keyvalue --realm shop --format u", ["url"]],
	["svc completion ", ["bash", "fish", "zsh"]],
	["svc realm show ", ["shop", "stock"]],
	["svc secret list --realm st", ["stock"]],
	["svc secret get --realm shop --env prod DB_U", ["DB_URL"]],
	["svc secret get --realm=shop DB_", ["DB_PASSWORD", "DB_URL"]],
	["svc secret set DB_URL ", []],
	["svc machine to", ["token"]],
	["svc machine token revoke --realm shop d", ["deploy"]],
	["svc import .e", [".env"]],
	["svc diff st", ["staging"]],
	["svc promote --realm shop --from staging DB_U", ["DB_URL"]],
	["svc nonsense ", []],
];

/** Asks a shell for its offers. `line` is the typed text; the answer has a name per line, perhaps with its description after a tab. */
const SHELLS: Readonly<Record<string, (script: string, line: string) => string>> = {
	// Splits words as readline does, at `=`, too.
	bash: (script, line) => `source '${script}'
		line=${quote(line)}
		read -ra COMP_WORDS <<<"\${line//=/ = }"
		[[ $line == *" " ]] && COMP_WORDS+=("")
		COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
		_svc
		printf '%s\\n' "\${COMPREPLY[@]}"`,
	// Prints what the completion system would show, with its own filter by the typed word.
	zsh: (script, line) => `compdef() { : }
		compadd() { shift; print -rl -- $@ }
		_describe() { print -rl -- \${\${(P)\${@[-1]}}%%:*} }
		_files() { print -rl -- .env* }
		compset() { words[CURRENT]=\${words[CURRENT]#*=} }
		source '${script}'
		line=${quote(line)}
		words=(\${(s: :)line}) CURRENT=\${#words}
		[[ $line == *" " ]] && { words+=(''); CURRENT=\${#words} }
		_svc | while read -r name; do [[ $name == \${words[CURRENT]##*=}* ]] && print -r -- $name; done
		true`,
	fish: (script, line) => `source '${script}'; complete -C ${quote(line)}`,
};

const quote = (text: string): string => `'${text}'`;

let home: Awaited<ReturnType<typeof temporaryFolder>>;
let server: FakeServer;
let scripts: (shell: string) => string;

before(async () => {
	home = await temporaryFolder();
	const pageOf = (url: string) => {
		if (url.includes("/machines")) return page("machines", MACHINES);
		return url.includes("/secrets") ? page("secrets", KEYS) : page("realms", REALMS);
	};
	server = await startFake(({ url }) => pageOf(url), { plain: true });
	scripts = (shell) => join(home.path, `completion.${shell}`);
	await writeFile(join(home.path, "svc"), `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`);
	await chmod(join(home.path, "svc"), 0o700);
	await writeFile(join(home.path, ".env"), "");
	for (const shell of Object.keys(SHELLS)) await writeFile(scripts(shell), await scriptOf(shell));
});
after(async () => {
	await server[Symbol.asyncDispose]();
	await home[Symbol.asyncDispose]();
});

async function scriptOf(shell: string): Promise<string> {
	const { io, outcome } = fakeIo();
	return outcome(await runCli(["completion", shell], io, LOCAL_COMMANDS)).stdout;
}

async function offered(shell: string, line: string, env: Record<string, string> = {}): Promise<string[]> {
	const { stdout, stderr } = await promisify(execFile)(shell, ["-c", SHELLS[shell]?.(scripts(shell), line) ?? ""], {
		cwd: home.path,
		timeout: 120_000,
		env: {
			PATH: `${home.path}:${dirname(process.execPath)}:/usr/bin:/bin`,
			HOME: home.path,
			SVC_ADDRESS: server.address,
			SVC_TOKEN: "svc_token",
			...env,
		},
	});
	assert.equal(stderr, "");
	const names = stdout.split("\n").map((name) => name.split("\t")[0]?.replace(/^--[a-z-]+=/, "") ?? "");
	return [...new Set(names.filter((name) => name !== ""))].sort((one, other) => (one < other ? -1 : 1));
}

for (const shell of Object.keys(SHELLS)) {
	const isThere = spawnSync(shell, ["-c", "exit 0"]).status === 0;
	describe(`in ${shell}`, { skip: isThere ? false : `${shell} is not installed: apt-get install ${shell}` }, () => {
		for (const [line, expected] of LINES) {
			test(`${line}⇥ offers ${expected.join(" ") || "nothing"}`, async () => {
				assert.deepEqual(await offered(shell, line), expected);
			});
		}

		test("names are asked for without values, and nothing of a name is carried out", async () => {
			server.requests.splice(0);
			await offered(shell, "svc secret get --realm shop ");
			await offered(shell, "svc realm show ");
			assert.deepEqual(
				server.requests.map(({ method, url }) => `${method} ${url}`),
				["GET /api/v1/realms/shop/secrets?env=dev&values=false&limit=100", "GET /api/v1/realms?limit=100"],
			);
			assert.equal(existsSync(join(home.path, "pwned")), false);
		});

		test("without a session or a server nothing is offered, and nothing is said", async () => {
			assert.deepEqual(await offered(shell, "svc realm show ", { SVC_TOKEN: "" }), []);
			assert.deepEqual(await offered(shell, "svc realm show ", { SVC_ADDRESS: "http://127.0.0.1:9" }), []);
		});
	});
}
