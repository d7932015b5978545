import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { type Config, readConfig } from "./config.ts";
import { FatalError } from "./errors.ts";
import { type Cleanup, makeFolder } from "./testing/store.ts";

type Environment = Record<string, string | undefined>;

const saying = (pattern: RegExp) => (error: unknown) =>
	error instanceof FatalError && error.exitCode === 78 && pattern.test(error.message);

/** A folder with this svc.toml. */
async function folderWith(t: Cleanup, toml: string): Promise<string> {
	const folder = await makeFolder(t);
	writeFileSync(join(folder, "svc.toml"), toml);
	return folder;
}

/** A setting: what the file and the environment say, and what comes of each; `C` stands for the folder paths start from. */
interface Setting {
	name: string;
	variable: string;
	file: string;
	fromFile: unknown;
	text: string;
	fromText: unknown;
	read(config: Config): unknown;
	unset: unknown;
	/** What else has to be said so that the setting makes sense. */
	beside?: Environment;
}

const SETTINGS: Setting[] = [
	{
		name: "data_dir",
		variable: "SVC_DATA_DIR",
		file: '"d"',
		fromFile: "C/d",
		text: "/e",
		fromText: "/e",
		read: (c) => c.data_dir,
		unset: "C/data",
	},
	{
		name: "listen",
		variable: "SVC_LISTEN",
		file: '"0.0.0.0:1"',
		fromFile: { host: "0.0.0.0", port: 1 },
		text: "[::1]:65535",
		fromText: { host: "::1", port: 65_535 },
		read: (c) => c.listen,
		unset: { host: "127.0.0.1", port: 8443 },
	},
	{
		name: "base_url",
		variable: "SVC_BASE_URL",
		file: '"https://svc.example.com/"',
		fromFile: "https://svc.example.com",
		text: "https://svc.example.com:8443/svc//",
		fromText: "https://svc.example.com:8443/svc",
		read: (c) => c.base_url,
		unset: undefined,
	},
	{
		name: "tls.mode",
		variable: "SVC_TLS_MODE",
		file: '"files"',
		fromFile: "files",
		text: "off",
		fromText: "off",
		read: (c) => c.tls.mode,
		unset: "self-signed",
		beside: { SVC_TLS_CERTIFICATE_FILE: "c", SVC_TLS_KEY_FILE: "k" },
	},
	{
		name: "tls.certificate_file",
		variable: "SVC_TLS_CERTIFICATE_FILE",
		file: '"c"',
		fromFile: "C/c",
		text: "/c",
		fromText: "/c",
		read: (c) => c.tls.certificate_file,
		unset: undefined,
	},
	{
		name: "tls.key_file",
		variable: "SVC_TLS_KEY_FILE",
		file: '"k"',
		fromFile: "C/k",
		text: "../k",
		fromText: "P/k",
		read: (c) => c.tls.key_file,
		unset: undefined,
	},
	{
		name: "master_key_file",
		variable: "SVC_MASTER_KEY_FILE",
		file: '"m"',
		fromFile: "C/m",
		text: "/m",
		fromText: "/m",
		read: (c) => c.master_key_file,
		unset: undefined,
	},
	{
		name: "next_master_key_file",
		variable: "SVC_NEXT_MASTER_KEY_FILE",
		file: '"n"',
		fromFile: "C/n",
		text: "/n",
		fromText: "/n",
		read: (c) => c.next_master_key_file,
		unset: undefined,
	},
	{
		name: "registration.mode",
		variable: "SVC_REGISTRATION_MODE",
		file: '"admin"',
		fromFile: "admin",
		text: "closed",
		fromText: "closed",
		read: (c) => c.registration.mode,
		unset: "open",
	},
	{
		name: "registration.allowed_domains",
		variable: "SVC_REGISTRATION_ALLOWED_DOMAINS",
		file: '["Example.COM"]',
		fromFile: ["example.com"],
		text: " a.example , ,B.example,",
		fromText: ["a.example", "b.example"],
		read: (c) => c.registration.allowed_domains,
		unset: [],
	},
	{
		name: "plugins_dir",
		variable: "SVC_PLUGINS_DIR",
		file: '"p"',
		fromFile: "C/p",
		text: "/p",
		fromText: "/p",
		read: (c) => c.plugins_dir,
		unset: "C/data/plugins.d",
	},
	{
		name: "log.level",
		variable: "SVC_LOG_LEVEL",
		file: '"debug"',
		fromFile: "debug",
		text: "error",
		fromText: "error",
		read: (c) => c.log_level,
		unset: "info",
	},
	{
		name: "trusted_proxies",
		variable: "SVC_TRUSTED_PROXIES",
		file: '["10.0.0.1", "::1"]',
		fromFile: ["10.0.0.1", "::1"],
		text: "10.0.0.1, 10.0.0.2",
		fromText: ["10.0.0.1", "10.0.0.2"],
		read: (c) => c.trusted_proxies,
		unset: [],
	},
	{
		name: "secrets.enforce_expiry",
		variable: "SVC_SECRETS_ENFORCE_EXPIRY",
		file: "true",
		fromFile: true,
		text: "false",
		fromText: false,
		read: (c) => c.enforce_expiry,
		unset: false,
	},
	{
		name: "backup.directory",
		variable: "SVC_BACKUP_DIRECTORY",
		file: '"b"',
		fromFile: "C/b",
		text: "/b",
		fromText: "/b",
		read: (c) => c.backup.directory,
		unset: "C/data/backups",
	},
	{
		name: "backup.keep",
		variable: "SVC_BACKUP_KEEP",
		file: "30",
		fromFile: 30,
		text: "1",
		fromText: 1,
		read: (c) => c.backup.keep,
		unset: 7,
	},
];

const tomlOf = ({ name, file }: Setting) => {
	const [table, key] = name.split(".");
	return key === undefined ? `${name} = ${file}` : `[${table}]\n${key} = ${file}`;
};
const placed = (value: unknown, folder: string): unknown =>
	typeof value === "string" ? value.replace(/^C/, folder).replace(/^P/, join(folder, "..")) : value;

for (const setting of SETTINGS) {
	test(`${setting.name} has a default, is read from svc.toml, and ${setting.variable} comes before it`, async (t) => {
		const beside = setting.beside ?? {};
		const empty = await makeFolder(t);
		assert.deepEqual(setting.read(readConfig(beside, empty)), placed(setting.unset, empty));
		const folder = await folderWith(t, tomlOf(setting));
		assert.deepEqual(setting.read(readConfig(beside, folder)), placed(setting.fromFile, folder));
		const given = { ...beside, [setting.variable]: setting.text };
		assert.deepEqual(setting.read(readConfig(given, folder)), placed(setting.fromText, folder), "both");
		assert.deepEqual(setting.read(readConfig(given, empty)), placed(setting.fromText, empty), "environment alone");
	});

	test(`${setting.name} of another kind is refused in the file, and nonsense in both without repeating it`, async (t) => {
		const { name, variable, file } = setting;
		const isPath = /_(dir|file)$|directory$/.test(name);
		const folder = await folderWith(t, tomlOf({ ...setting, file: "4711" }));
		assert.throws(() => readConfig({}, folder), saying(new RegExp(`^${name} in .*svc\\.toml must be `)));
		if (isPath || file.startsWith("[")) return;
		const isPlain = (error: unknown) => !String(error).includes("CANARY");
		const isRefused = (error: unknown) => saying(new RegExp(`^${variable} must be `))(error) && isPlain(error);
		assert.throws(() => readConfig({ [variable]: "CANARY CANARY" }, `${folder}-none`), isRefused);
		assert.throws(() => readConfig({ [variable]: "" }, `${folder}-none`), isRefused);
	});
}

test("every setting there is, is in the table of this test", async (t) => {
	const folder = await makeFolder(t);
	assert.throws(
		() => readConfig({ SVC_NO_SUCH: "1" }, folder),
		(error) => {
			const known = /known are (.*)$/.exec(String(error))?.[1]?.split(", ");
			assert.deepEqual(
				known,
				SETTINGS.map((setting) => setting.name),
			);
			return true;
		},
	);
});

test("variables of the client, of engines, of tests and of others are left alone", async (t) => {
	const folder = await makeFolder(t);
	const foreign = [
		"SVC_ADDRESS",
		"SVC_TOKEN",
		"SVC_REALM",
		"SVC_ENV",
		"SVC_CACERT",
		"SVC_FINGERPRINT",
		"SVC_PKI_CA",
		"SVC_ORCH_URL",
		"SVC_TEST_SEED",
		"PATH",
		"MY_SVC_LISTEN",
	];
	const config = readConfig(Object.fromEntries(foreign.map((name) => [name, "x"])), folder);
	assert.deepEqual(config, {
		...readConfig({}, folder),
		engine_environment: { SVC_PKI_CA: "x", SVC_ORCH_URL: "x" },
	});
});

test("the file that SVC_CONFIG names is read instead, and must be there", async (t) => {
	const folder = await folderWith(t, 'listen = "127.0.0.1:1"');
	writeFileSync(join(folder, "other.toml"), 'listen = "127.0.0.1:2"');
	assert.equal(readConfig({ SVC_CONFIG: "other.toml" }, folder).listen.port, 2);
	assert.equal(readConfig({ SVC_CONFIG: join(folder, "other.toml") }, "/").listen.port, 2);
	assert.throws(() => readConfig({ SVC_CONFIG: "none.toml" }, folder), saying(/none\.toml cannot be read as TOML/));
});

test("the master key's text is carried so that nothing prints it, and systemd's folder is taken as it is", async (t) => {
	const folder = await makeFolder(t);
	const config = readConfig({ SVC_MASTER_KEY: "CANARY", CREDENTIALS_DIRECTORY: "/run/credentials/svc" }, folder);
	assert.equal(config.master_key?.reveal(), "CANARY");
	assert.ok(!JSON.stringify(config).includes("CANARY") && !inspect(config).includes("CANARY"));
	assert.equal(config.credentials_dir, "/run/credentials/svc");
	assert.equal(readConfig({ SVC_BOOT_ID: "0f" }, folder).boot_id, "0f");
	assert.equal(readConfig({}, folder).master_key, undefined);
});

test("settings do not change once they were read", async (t) => {
	const config = readConfig({}, await makeFolder(t));
	assert.throws(() => Object.assign(config, { data_dir: "/elsewhere" }), TypeError);
});
