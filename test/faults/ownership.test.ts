import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
	chmodSync,
	chownSync,
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { plainApi } from "./plain-api.ts";
import { assertRefusal, type RunOptions, refusedStart, runServer } from "./process.ts";
import { snapshot } from "./snapshot.ts";

const NOBODY = 65534;
const TLS = { SVC_TLS_MODE: "self-signed" };
const isRoot = process.getuid?.() === 0;
const skipUnlessRoot = isRoot ? false : "only root can give files to another user";

const root = mkdtempSync(join(tmpdir(), "svc-ownership-"));
/** Data directories as a server left them, the second with its own master key; every test damages a copy. */
const sound = join(root, "sound");
const foreign = join(root, "foreign");

before(async () => {
	for (const data of [sound, foreign]) {
		mkdirSync(data, { mode: 0o700 });
		await (await runServer({ data, env: TLS })).kill("SIGKILL");
		const run = await runServer({ data });
		assert.equal((await plainApi(run.url).get("/health")).status, 200);
		assert.equal((await run.kill("SIGTERM")).code, 0);
	}
});
after(() => rmSync(root, { recursive: true }));

/** A fault of a data directory, and the content of the sentence on stderr: the damaged thing, and the remedy. */
interface Damage {
	readonly what: string;
	readonly damage: (data: string) => void;
	readonly says: RegExp;
	readonly skip?: string | boolean;
}

const DAMAGES: Damage[] = [
	{
		what: "the master key of another installation",
		damage: (data) => {
			rmSync(join(data, "master.key"));
			copyFileSync(join(foreign, "master.key"), join(data, "master.key"));
		},
		says: /fingerprint/,
	},
	{
		what: "existing data without its master key",
		damage: (data) => rmSync(join(data, "master.key")),
		says: /fingerprint/,
	},
	{ what: "an empty master key", damage: (data) => rewrite(data, "master.key", ""), says: /master\.key .*must/ },
	{
		what: "half a master key",
		damage: (data) => rewrite(data, "master.key", "0123456789abcdef"),
		says: /master\.key .*must/,
	},
	{
		what: "a database that is none",
		damage: (data) => rewrite(data, "svc.db", "not a database\n".repeat(1000)),
		says: /svc\.db|database/,
	},
	{
		what: "a database that is a link",
		damage: (data) => {
			renameSync(join(data, "svc.db"), join(data, "moved.db"));
			symlinkSync("moved.db", join(data, "svc.db"));
		},
		says: /svc\.db .*link/,
	},
	{
		what: "a database that is a link to nothing",
		damage: (data) => {
			rmSync(join(data, "svc.db"));
			symlinkSync("nothing.db", join(data, "svc.db"));
		},
		says: /svc\.db .*link/,
	},
	...["master.key", "svc.db", "tls.key"].flatMap((file) => [
		{
			what: `a world-readable ${file}`,
			damage: (data: string) => chmodSync(join(data, file), 0o644),
			says: saysChmod(file),
		},
		{
			what: `a group-readable ${file}`,
			damage: (data: string) => chmodSync(join(data, file), 0o640),
			says: saysChmod(file),
		},
		{
			what: `a ${file} of another user`,
			damage: (data: string) => chownSync(join(data, file), NOBODY, NOBODY),
			says: new RegExp(`${file} .*chown`),
			skip: skipUnlessRoot,
		},
	]),
	{ what: "a world-readable data directory", damage: (data) => chmodSync(data, 0o755), says: /chmod/ },
	{ what: "a data directory that its group can write", damage: (data) => chmodSync(data, 0o770), says: /chmod/ },
	{
		what: "a data directory of another user",
		damage: (data) => chownSync(data, NOBODY, NOBODY),
		says: /\(uid 65534\)/,
		skip: skipUnlessRoot,
	},
];

for (const { what, damage, says, skip = false } of DAMAGES) {
	test(`refuses to start on ${what}, says what to do and changes nothing`, { skip }, async () => {
		const data = copyOf(sound);
		damage(data);
		const before = snapshot(data);
		assertRefusal(await refusedStart({ data, env: TLS }), says);
		assert.deepEqual(snapshot(data), before);
	});
}

test("a second server on the same data directory is refused and the first one serves on", async () => {
	const data = copyOf(sound);
	const first = await runServer({ data });
	try {
		assertRefusal(await refusedStart({ data }), /another .*server/);
		assert.equal((await plainApi(first.url).get("/health")).status, 200);
	} finally {
		await first.kill("SIGKILL");
	}
	// A kill frees the data directory.
	await (await runServer({ data })).kill("SIGKILL");
});

const readOnly =
	'mount --bind "$SVC_DATA_DIR" "$SVC_DATA_DIR" && mount -o remount,bind,ro "$SVC_DATA_DIR" && exec "$@"';
const skipWithoutMount =
	spawnSync("unshare", ["--mount", "true"]).status === 0 ? false : "only root can mount read-only";

for (const [what, prepare] of Object.entries({ "existing data": sound, "an empty folder": undefined })) {
	test(`refuses to start on ${what} on a read-only file system`, { skip: skipWithoutMount }, async () => {
		const data = prepare === undefined ? emptyFolder() : copyOf(prepare);
		const before = snapshot(data);
		const wrap: RunOptions["wrap"] = (command) => ["unshare", "--mount", "sh", "-c", readOnly, "sh", ...command];
		assertRefusal(await refusedStart({ data, env: TLS, wrap }), /read-only|writ/);
		assert.deepEqual(snapshot(data), before);
	});
}

function saysChmod(file: string): RegExp {
	return new RegExp(`chmod 0?[46]00 \\S*${file.replace(".", "\\.")}`);
}

function copyOf(data: string): string {
	const copy = emptyFolder();
	assert.equal(spawnSync("cp", ["-a", `${data}/.`, copy]).status, 0);
	return copy;
}

function emptyFolder(): string {
	return mkdtempSync(join(root, "data-"));
}

function rewrite(data: string, file: string, content: string): void {
	rmSync(join(data, file));
	writeFileSync(join(data, file), content, { mode: 0o600 });
}
