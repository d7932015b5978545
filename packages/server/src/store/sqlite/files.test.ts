import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, renameSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FatalError } from "../../errors.ts";
import { HELD } from "../../testing/hold-lock.ts";
import { makeFolder } from "../../testing/store.ts";
import { checkDataDirectory, DATABASE_FILES, lockDataDirectory } from "./files.ts";

const HOLDER = join(import.meta.dirname, "../../testing/hold-lock.ts");
const IS_ROOT = process.geteuid?.() === 0;
const skipUnlessRoot = IS_ROOT ? false : "only root can give files away";

const saying = (pattern: RegExp) => (error: unknown) => error instanceof FatalError && pattern.test(error.message);
const modeOf = (path: string) => statSync(path).mode & 0o777;
const check = (directory: string) => checkDataDirectory(directory, DATABASE_FILES);

async function dataFolder(t: TestContext): Promise<string> {
	const directory = join(await makeFolder(t), "data");
	mkdirSync(directory, { mode: 0o700 });
	return directory;
}

test("a data directory that is not there is made for its owner alone, with its parents", async (t) => {
	const parent = join(await makeFolder(t), "var");
	const before = process.umask(0);
	t.after(() => void process.umask(before));
	check(join(parent, "lib", "data"));
	assert.equal(modeOf(join(parent, "lib", "data")), 0o700);
});

test("a directory with files that are ours alone is accepted, again and again", async (t) => {
	const directory = await dataFolder(t);
	for (const name of DATABASE_FILES) writeFileSync(join(directory, name), "", { mode: 0o600 });
	check(directory);
	check(directory);
	chmodSync(join(directory, "svc.db"), 0o400);
	chmodSync(directory, 0o500);
	check(directory);
	chmodSync(directory, 0o700);
});

for (const mode of [0o755, 0o750, 0o701, 0o710, 0o720, 0o702, 0o777]) {
	test(`a data directory of mode ${mode.toString(8)} is refused with the chmod that mends it`, async (t) => {
		const directory = await dataFolder(t);
		chmodSync(directory, mode);
		assert.throws(() => check(directory), saying(/chmod 700 .*\/data$/));
		assert.equal(modeOf(directory), mode, "it is left as it was");
	});
}

for (const name of DATABASE_FILES) {
	test(`${name} is refused with any bit for others, with the chmod that mends it`, async (t) => {
		const directory = await dataFolder(t);
		writeFileSync(join(directory, name), "");
		for (const mode of [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666]) {
			chmodSync(join(directory, name), mode);
			assert.throws(() => check(directory), saying(new RegExp(`chmod 600 .*/${name}$`)), mode.toString(8));
		}
		chmodSync(join(directory, name), 0o600);
		check(directory);
	});
}

test("a data directory or file of another user is refused, naming both", { skip: skipUnlessRoot }, async (t) => {
	const directory = await dataFolder(t);
	const file = join(directory, "svc.db");
	writeFileSync(file, "", { mode: 0o600 });
	chownSync(file, 12_345, 0);
	assert.throws(() => check(directory), saying(/svc\.db .*\b12345\b.*chown 0 .*svc\.db$/));
	chownSync(file, 0, 0);
	chownSync(directory, 12_345, 0);
	assert.throws(() => check(directory), saying(/data .*\b12345\b/));
});

test("a link in the data directory's place is refused, wherever it leads", async (t) => {
	const directory = await dataFolder(t);
	const link = `${directory}-link`;
	symlinkSync(directory, link);
	assert.throws(() => check(link), saying(/data-link /));
});

test("a link in a file's place is refused even when it leads to a file of ours", async (t) => {
	const directory = await dataFolder(t);
	writeFileSync(join(directory, "elsewhere"), "", { mode: 0o600 });
	symlinkSync(join(directory, "elsewhere"), join(directory, "svc.db"));
	assert.throws(() => check(directory), saying(/svc\.db /));
});

test("a link that leads nowhere is refused too: the file would be made where it points", async (t) => {
	const directory = await dataFolder(t);
	for (const name of ["svc.db", "svc.db-wal"]) {
		symlinkSync(join(directory, "nowhere"), join(directory, name));
		assert.throws(() => check(directory), saying(new RegExp(`${name} `)));
		unlinkSync(join(directory, name));
	}
});

test("a directory that cannot be made is refused, naming it", async (t) => {
	const directory = await dataFolder(t);
	writeFileSync(join(directory, "file"), "");
	assert.throws(() => check(join(directory, "file", "data")), saying(/file\/data .*\(ENOTDIR\)/));
});

test("a lock that is no lock file differs from one that is held", async (t) => {
	const directory = await dataFolder(t);
	writeFileSync(join(directory, "svc.lock"), "no database ".repeat(1000));
	assert.throws(() => lockDataDirectory(directory), saying(/svc\.lock .*\(SQLITE_NOTADB\)/));
	mkdirSync(join(directory, "sub"), { mode: 0o700 });
	mkdirSync(join(directory, "sub", "svc.lock"));
	assert.throws(() => lockDataDirectory(join(directory, "sub")), saying(/svc\.lock .*\(SQLITE_CANTOPEN/));
});

test("a folder in a file's place and a file in the folder's place are refused", async (t) => {
	const directory = await dataFolder(t);
	mkdirSync(join(directory, "svc.db"), { mode: 0o700 });
	assert.throws(() => check(directory), saying(/svc\.db /));
	writeFileSync(`${directory}-file`, "", { mode: 0o600 });
	assert.throws(() => check(`${directory}-file`), saying(/data-file .*\(EEXIST\).*\bdata_dir$/));
});

test("the lock is given once in a process, to the next one when it is let go, and its file is private", async (t) => {
	const directory = await dataFolder(t);
	const before = process.umask(0);
	t.after(() => void process.umask(before));
	const unlock = lockDataDirectory(directory);
	assert.equal(modeOf(join(directory, "svc.lock")), 0o600);
	assert.throws(() => lockDataDirectory(directory), saying(/data: .*\bdata_dir$/));
	assert.throws(() => lockDataDirectory(directory), saying(/\bdata_dir$/), "refusing lets nothing go");
	unlock();
	lockDataDirectory(directory)();
});

test("a lock that another process holds is refused, and is free once that process was killed", async (t) => {
	const directory = await dataFolder(t);
	const holder = spawn(process.execPath, ["--expose-gc", HOLDER, directory], { stdio: ["ignore", "pipe", "inherit"] });
	t.after(() => void holder.kill("SIGKILL"));
	const [said] = (await once(holder.stdout, "data")) as [Buffer];
	assert.equal(said.toString(), HELD);
	assert.throws(() => lockDataDirectory(directory), saying(/\bdata_dir$/));
	const exited = once(holder, "exit");
	holder.kill("SIGKILL");
	await exited;
	lockDataDirectory(directory)();
});

test("the lock of one directory does not hold another, and follows the directory when it is renamed", async (t) => {
	const directory = await dataFolder(t);
	const other = `${directory}-other`;
	mkdirSync(other, { mode: 0o700 });
	const unlock = lockDataDirectory(directory);
	lockDataDirectory(other)();
	renameSync(directory, `${directory}-renamed`);
	assert.throws(() => lockDataDirectory(`${directory}-renamed`), saying(/\bdata_dir$/));
	unlock();
});
