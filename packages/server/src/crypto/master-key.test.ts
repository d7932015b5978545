import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
	chmod,
	chown,
	mkdir,
	mkdtemp,
	readdir,
	readFile,
	rm,
	stat,
	symlink,
	truncate,
	writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { FatalError } from "../errors.ts";
import { Redacted } from "../redacted.ts";
import { system } from "../system.ts";
import { findNextMasterKey, loadMasterKey, type MasterKeySources } from "./master-key.ts";
import { createKeyFile, parseKeyText, readKeyFile } from "./master-key-file.ts";
import { masterFingerprint } from "./wrap.ts";

/** A key whose base64 has both characters that base64url spells differently. */
const KEY = Buffer.from("fbefbe00112233445566778899aabbccddeeff00112233445566778899fffff0", "hex");
const OTHER = Buffer.alloc(32, 0xee);
const OWNER = process.geteuid?.();

async function makeFolder(t: { after: (clean: () => Promise<void>) => void }): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "svc-master-key-"));
	t.after(() => rm(folder, { recursive: true }));
	return folder;
}

async function writeKeyFile(folder: string, name: string, content: string | Buffer, mode = 0o400): Promise<string> {
	const file = join(folder, name);
	await writeFile(file, content);
	await chmod(file, mode);
	return file;
}

const sourcesIn = (folder: string, given: Partial<MasterKeySources> = {}): MasterKeySources => ({
	credentials_dir: undefined,
	master_key_file: undefined,
	data_dir: folder,
	master_key: undefined,
	...given,
});
const saying = (pattern: RegExp) => (error: unknown) => error instanceof FatalError && pattern.test(error.message);

const FORMS: Record<string, string | Buffer> = {
	"32 raw bytes": KEY,
	"64 hexadecimal digits": KEY.toString("hex"),
	"64 hexadecimal digits in capitals and a newline": `${KEY.toString("hex").toUpperCase()}\n`,
	"base64 and a newline": `${KEY.toString("base64")}\n`,
	"base64 without padding": KEY.toString("base64").replace("=", ""),
	"base64url and a newline of two characters": `${KEY.toString("base64url")}\r\n`,
};
for (const [form, content] of Object.entries(FORMS)) {
	test(`a key file of ${form} is read`, async (t) => {
		const folder = await makeFolder(t);
		assert.deepEqual(await readKeyFile(await writeKeyFile(folder, "key", content), OWNER), KEY);
	});
}

const NO_KEYS: Record<string, string | Buffer> = {
	nothing: "",
	"a newline": "\n",
	"32 characters of text": "CANARY7890abcdef0123456789abcdef",
	"31 bytes": KEY.subarray(1),
	"33 bytes": Buffer.concat([KEY, Buffer.from("\n")]),
	"63 digits": KEY.toString("hex").slice(1),
	"64 characters that are no digits": `CANARY${KEY.toString("hex").slice(6)}`,
	"two lines": `${KEY.toString("hex")}\n${KEY.toString("hex")}\n`,
	"a space in front": ` ${KEY.toString("hex")}`,
	"base64 with loose bits": `${KEY.toString("base64").slice(0, 42)}x=`,
	"base64 of 33 bytes": Buffer.concat([KEY, KEY.subarray(0, 1)]).toString("base64"),
	"more than a kilobyte": "CANARY".repeat(1000),
};
for (const [what, content] of Object.entries(NO_KEYS)) {
	test(`a key file of ${what} is refused without showing it`, async (t) => {
		const file = await writeKeyFile(await makeFolder(t), "key", content);
		await assert.rejects(
			readKeyFile(file, OWNER),
			(error) => saying(/32 random bytes/)(error) && !String(error).includes("CANARY"),
		);
	});
}

test("32 characters in the environment are never raw bytes", () => {
	assert.throws(() => parseKeyText("ü".repeat(16), "SVC_MASTER_KEY"), saying(/^SVC_MASTER_KEY\b/));
});

test("a key file is read with no bits for others and refused with any, naming the chmod", async (t) => {
	const folder = await makeFolder(t);
	for (const mode of [0o400, 0o600, 0o700]) {
		assert.ok(await readKeyFile(await writeKeyFile(folder, `key-${mode}`, KEY, mode), OWNER));
	}
	for (const mode of [0o440, 0o404, 0o420, 0o402, 0o410, 0o401, 0o644]) {
		const file = await writeKeyFile(folder, `key-${mode}`, KEY, mode);
		await assert.rejects(readKeyFile(file, OWNER), saying(/\bchmod 0400 .*key-/));
	}
});

test("a key file of another user is refused", async (t) => {
	const file = await writeKeyFile(await makeFolder(t), "key", KEY);
	// Root gives the file away, since files owned by root are accepted for everybody.
	if (OWNER === 0) await chown(file, 12_345, 12_345);
	await assert.rejects(readKeyFile(file, 54_321), saying(/\bchown\b/));
});

test("a folder, a pipe or a gigabyte in the file's place is refused immediately, and a link to a good file is followed", async (t) => {
	const folder = await makeFolder(t);
	await mkdir(join(folder, "folder"));
	await promisify(execFile)("mkfifo", [join(folder, "pipe")]);
	await symlink(await writeKeyFile(folder, "key", KEY), join(folder, "link"));
	await truncate(await writeKeyFile(folder, "large", KEY, 0o600), 1024 ** 3);
	for (const name of ["folder", "pipe", "large"])
		await assert.rejects(readKeyFile(join(folder, name), OWNER), saying(new RegExp(`/${name}\\b`)));
	assert.deepEqual(await readKeyFile(join(folder, "link"), OWNER), KEY);
});

test("a new key is made durably with mode 0400 and never over another one", async (t) => {
	const folder = await makeFolder(t);
	const file = join(folder, "master.key");
	await writeFile(`${file}.new`, "left from a start that was cut off");
	createKeyFile(file, KEY);
	assert.equal((await stat(file)).mode & 0o777, 0o400);
	assert.deepEqual(await readKeyFile(file, OWNER), KEY);
	assert.deepEqual(await readdir(folder), ["master.key"]);
	assert.throws(() => createKeyFile(file, OTHER), { code: "EEXIST" });
	assert.deepEqual(await readKeyFile(file, OWNER), KEY);
	assert.deepEqual(await readdir(folder), ["master.key"]);
});

test("a new store without any key gets one, which the next start finds", async (t) => {
	const folder = await makeFolder(t);
	const made = await loadMasterKey(sourcesIn(folder), undefined, system);
	assert.equal(made.generated, true);
	assert.equal(made.file, join(folder, "master.key"));
	assert.equal(made.fingerprint, masterFingerprint(made.key.reveal()));
	const found = await loadMasterKey(sourcesIn(folder), made.fingerprint, system);
	assert.equal(found.generated, false);
	assert.deepEqual(found.key.reveal(), made.key.reveal());
	assert.ok(!JSON.stringify(found).includes(found.key.reveal().toString("hex")));
});

test("a store with data and no key gets none, and the error names the one it needs", async (t) => {
	const folder = await makeFolder(t);
	await assert.rejects(loadMasterKey(sourcesIn(folder), "0123456789abcdef", system), saying(/\b0123456789abcdef\b/));
	assert.deepEqual(await readdir(folder), []);
});

test("a file that the configuration names must exist, also when the store is new", async (t) => {
	const folder = await makeFolder(t);
	const sources = sourcesIn(folder, {
		master_key_file: join(folder, "named"),
		master_key: new Redacted(KEY.toString("hex")),
	});
	await assert.rejects(loadMasterKey(sources, undefined, system), saying(/\bhead -c 32\b/));
	await assert.rejects(loadMasterKey(sources, "0123456789abcdef", system), saying(/\b0123456789abcdef\b/));
	assert.deepEqual(await readdir(folder), []);
});

test("the credential comes before the file and the file before the environment, with a warning", async (t) => {
	const folder = await makeFolder(t);
	const load = (given: Partial<MasterKeySources>) => loadMasterKey(sourcesIn(folder, given), undefined, system);
	const master_key = new Redacted(KEY.toString("base64url"));

	const environment = await load({ master_key });
	assert.deepEqual([environment.origin, environment.home, environment.key.reveal()], ["environment", undefined, KEY]);
	assert.match(environment.warnings.join(), /\bmaster_key_file\b/);

	await writeKeyFile(folder, "master.key", OTHER.toString("hex"));
	const file = await load({ master_key });
	assert.deepEqual([file.origin, file.key.reveal()], ["file", OTHER]);
	assert.match(file.warnings.join(), /\bSVC_MASTER_KEY\b.*\bignored\b/);
	assert.deepEqual((await load({})).warnings, []);

	const credentials_dir = join(folder, "credentials");
	await mkdir(credentials_dir);
	assert.equal((await load({ credentials_dir })).origin, "file", "a folder without the credential");
	// systemd grants the service its credentials by an access list, which shows as a group bit.
	await writeKeyFile(credentials_dir, "master-key", KEY, 0o440);
	const credential = await load({ credentials_dir, master_key });
	assert.deepEqual([credential.origin, credential.home, credential.key.reveal()], ["credential", undefined, KEY]);
});

test("an unreadable value in the environment is refused without showing it", async (t) => {
	const sources = sourcesIn(await makeFolder(t), { master_key: new Redacted("CANARY") });
	await assert.rejects(
		loadMasterKey(sources, undefined, system),
		(error) => saying(/^SVC_MASTER_KEY\b/)(error) && !String(error).includes("CANARY"),
	);
});

test("the file's text is hexadecimal and ends with a newline, so that it can be copied", async (t) => {
	const file = join(await makeFolder(t), "master.key");
	createKeyFile(file, KEY);
	assert.equal(await readFile(file, "utf8"), `${KEY.toString("hex")}\n`);
});

test("a next master key is the one that is found once the data needs it, wherever the other one still is", async (t) => {
	const folder = await makeFolder(t);
	const next_master_key_file = await writeKeyFile(folder, "next", OTHER);
	const sources = sourcesIn(folder, { master_key: new Redacted(KEY.toString("hex")), next_master_key_file });
	const before = await loadMasterKey(sources, masterFingerprint(KEY), system);
	assert.deepEqual([before.origin, before.key.reveal()], ["environment", KEY]);
	const after = await loadMasterKey(sources, masterFingerprint(OTHER), system);
	assert.deepEqual([after.origin, after.file, after.home], ["file", next_master_key_file, undefined]);
	assert.deepEqual(after.key.reveal(), OTHER);
	assert.match(after.warnings.join(), /\bnext master key\b/);
	const alone = sourcesIn(folder, { next_master_key_file });
	assert.deepEqual((await loadMasterKey(alone, masterFingerprint(OTHER), system)).key.reveal(), OTHER);
	assert.equal((await loadMasterKey(sources, "0123456789abcdef", system)).origin, "environment", "neither is right");
});

test("the credential of a next master key comes before its file, and what is malformed is refused", async (t) => {
	const folder = await makeFolder(t);
	const credentials_dir = join(folder, "credentials");
	await mkdir(credentials_dir);
	const next_master_key_file = await writeKeyFile(folder, "next", OTHER);
	const find = () => findNextMasterKey({ credentials_dir, next_master_key_file });
	assert.deepEqual((await find())?.key.reveal(), OTHER);
	await writeKeyFile(credentials_dir, "next-master-key", KEY, 0o440);
	assert.deepEqual([(await find())?.origin, (await find())?.key.reveal()], ["credential", KEY]);
	await rm(join(credentials_dir, "next-master-key"));
	await chmod(next_master_key_file, 0o444);
	await assert.rejects(find(), saying(/\bchmod 0400 /));
	await rm(next_master_key_file);
	assert.equal(await find(), undefined);
});
