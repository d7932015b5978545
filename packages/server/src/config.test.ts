import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { readConfig } from "./config.ts";
import { FatalError } from "./errors.ts";
import { SETTINGS, type Setting } from "./testing/settings.ts";
import { type Cleanup, makeFolder } from "./testing/store.ts";

const saying = (pattern: RegExp) => (error: unknown) =>
	error instanceof FatalError && error.exitCode === 78 && pattern.test(error.message);

/** A folder with this svc.toml. */
async function folderWith(t: Cleanup, toml: string): Promise<string> {
	const folder = await makeFolder(t);
	writeFileSync(join(folder, "svc.toml"), toml);
	return folder;
}

const tomlOf = ({ name, file }: Setting) => {
	const [table, key] = name.split(".");
	return key === undefined ? `${name} = ${file}` : `[${table}]\n${key} = ${file}`;
};
const placed = (value: unknown, folder: string): unknown =>
	typeof value === "string" ? value.replace(/^C/, folder).replace(/^P/, join(folder, "..")) : value;

for (const setting of SETTINGS) {
	test(`${setting.name} has a default, is read from svc.toml, and ${setting.variable} comes before it`, async (t) => {
		const others = setting.others ?? {};
		const empty = await makeFolder(t);
		assert.deepEqual(setting.read(readConfig(others, empty)), placed(setting.unset, empty));
		const folder = await folderWith(t, tomlOf(setting));
		assert.deepEqual(setting.read(readConfig(others, folder)), placed(setting.fromFile, folder));
		const given = { ...others, [setting.variable]: setting.text };
		assert.deepEqual(setting.read(readConfig(given, folder)), placed(setting.fromText, folder), "both");
		assert.deepEqual(setting.read(readConfig(given, empty)), placed(setting.fromText, empty), "environment alone");
	});

	test(`${setting.name} of another kind is refused in the file, and nonsense in both without repeating it`, async (t) => {
		const { name, variable, file } = setting;
		const isPath = /_(dir|file)$|directory$/.test(name);
		const folder = await folderWith(t, tomlOf({ ...setting, file: "-4711" }));
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
			const known = /the settings are (.*)$/.exec(String(error))?.[1]?.split(", ");
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
		"SVC_TOKEN_FILE",
		"SVC_PORT",
		"SVC_PORT_8443_TCP_ADDR",
		"SVC_SERVICE_HOST",
		"SVC_SERVICE_PORT_HTTPS",
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

test("what Kubernetes sets for a Service named svc-… is left alone, and only that", async (t) => {
	const folder = await makeFolder(t);
	const names = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTPS", "PORT", "PORT_8443_TCP", "PORT_8443_TCP_ADDR"];
	const setFor = (service: string) => Object.fromEntries(names.map((name) => [`${service}_${name}`, "x"]));
	const env = { ...setFor("SVC_TOKEN"), ...setFor("SVC_REALM_2"), ...setFor("SVC_ORCH"), ...setFor("SVC") };
	assert.deepEqual(readConfig(env, folder), readConfig({}, folder));
	const { SVC_TOKEN_SERVICE_HOST: _, ...without } = setFor("SVC_TOKEN");
	assert.throws(() => readConfig(without, folder), saying(/^SVC_TOKEN_SERVICE_PORT\b/));
	assert.throws(() => readConfig({ ...env, SVC_TOKEN_PORTS: "x" }, folder), saying(/^SVC_TOKEN_PORTS\b/));
	assert.throws(() => readConfig({ ...env, SVC_SERVIC_HOST: "x" }, folder), saying(/^SVC_SERVIC_HOST\b/));
	for (const { name } of SETTINGS) assert.doesNotMatch(name, /service|port/, "it would be taken for such a variable");
	const real = { SVC_LISTEN: "127.0.0.1:1", SVC_LISTEN_SERVICE_HOST: "x", SVC_LISTEN_PORT: "x" };
	assert.equal(readConfig(real, folder).listen.port, 1);
});

test("the file that SVC_CONFIG names is read instead, and must be there", async (t) => {
	const folder = await folderWith(t, 'listen = "127.0.0.1:1"');
	writeFileSync(join(folder, "other.toml"), 'listen = "127.0.0.1:2"');
	assert.equal(readConfig({ SVC_CONFIG: "other.toml" }, folder).listen.port, 2);
	assert.equal(readConfig({ SVC_CONFIG: join(folder, "other.toml") }, "/").listen.port, 2);
	assert.throws(() => readConfig({ SVC_CONFIG: "none.toml" }, folder), saying(/none\.toml .*\(ENOENT\)/));
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
