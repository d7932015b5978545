/* What takes long shows on a terminal what it is doing, in a line that goes away; a file or a program sees nothing of it. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { person, realm } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { type Person, skipWithoutTerminal, startPerson } from "../run/run-world.ts";

const options = { skip: skipWithoutTerminal };

/** Sequence that clears the line. */
const ERASE = "\r\u001b[K";

let server: Server;
let ada: Person;
let email: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutTerminal !== false) return;
	server = await startServer();
	ends.defer(server.close);
	const client = api(server);
	const admin = await person(client, "ada");
	email = admin.email;
	const { slug } = await realm(client, admin, "shop");
	ada = ends.use(await startPerson(server, admin.token));
	Object.assign(ada.env, { SVC_REALM: slug, SVC_DATA_DIR: server.data });
});

/** Runs a command on a terminal. @returns the lines of progress that came and went, and the name of the backup it shows */
async function onTerminal(...args: string[]): Promise<{ lines: string[]; backup: string }> {
	const { code, stdout } = await ada.startOnTerminal(args).ended();
	assert.equal(code, 0, stdout);
	const pieces = stdout.split(ERASE);
	const lines = pieces.slice(1, -1).map((line) => line.replace(/[:,] \d.*$/, ""));
	return {
		lines: [...new Set(lines)].filter((line) => /^[^\n]+$/.test(line)),
		backup: /svc-\w+\.db/.exec(stdout)?.[0] ?? "",
	};
}

/** Asserts the lines of progress by a word of each. */
function assertShown(lines: readonly string[], ...words: readonly string[]): void {
	assert.equal(lines.length, words.length, lines.join("\n"));
	for (const [at, word] of words.entries()) assert.ok(lines[at]?.includes(word), `${lines[at]}: ${word}`);
}

test("import, backup, verify and restore show progress on a terminal", options, async () => {
	const file = join(ada.home, "shop.env");
	await writeFile(file, Array.from({ length: 30 }, (_, index) => `KEY_${index}=value\n`).join(""));
	const imported = await onTerminal("import", file);
	assertShown(imported.lines, "reading", "writing secrets", "comparing");
	assertShown((await onTerminal("export")).lines, "secrets");
	const { lines, backup } = await onTerminal("backup");
	assertShown(lines, "backup");
	const path = join(server.data, "backups", backup);
	assertShown((await onTerminal("backup", "verify", path)).lines, "checking");
	assertShown((await onTerminal("audit", "verify")).lines, "log");
	assertShown((await onTerminal("audit", "list", "--all")).lines, "events");
	assertShown((await onTerminal("keys", "rotate", "--data", "--yes")).lines, "keys");
	const data = join(ada.home, "restored");
	await mkdir(data, { mode: 0o700 });
	Object.assign(ada.env, { SVC_DATA_DIR: data, SVC_MASTER_KEY_FILE: join(server.data, "master.key") });
	assertShown((await onTerminal("restore", path, "--yes")).lines, "checking", "restoring");
	assertShown((await onTerminal("recover", email, "--yes")).lines, "checking", "code");
	assertShown((await onTerminal("adopt", "--look")).lines, "database");
	const piped = await ada.run(["backup", "verify", path]);
	assert.deepEqual([piped.code, piped.stderr], [0, ""]);
});

test("what looks through everything, or ends much at once, shows progress on a terminal", options, async () => {
	for (const [words, word] of [
		["expiring", "ends"],
		["users list", "accounts"],
		["users find ada", "accounts"],
		["lease revoke-all --engine pki --yes", "leases"],
		[`revoke --realm ${ada.env.SVC_REALM} --yes`, "revoking"],
		["secret list", "secrets"],
		["realm list", "realms"],
		["lease list", "leases"],
		["token list", "tokens"],
		["diff dev prod", "comparing"],
		[`audit export --output ${join(ada.home, "log.jsonl")}`, "events"],
		["run -- true", "secrets"],
	] as const)
		assertShown((await onTerminal(...words.split(" "))).lines, word);
});
