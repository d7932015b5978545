import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isLoopback, readConfig } from "./config.ts";
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

const UNKNOWN = [
	'dat_dir = "x"',
	"[tls]\nmodes = 1",
	'[registraton]\nmode = "open"',
	'[log.level]\nx = "info"',
	'"Listen" = "a:1"',
	"[[tls]]\na=1",
];
for (const toml of UNKNOWN) {
	test(`a key that is no setting is refused in the file, naming it: ${toml.replace("\n", " ")}`, async (t) => {
		const folder = await folderWith(t, toml);
		assert.throws(
			() => readConfig({}, folder),
			saying(/^[\w.]+ in .*svc\.toml (is not a setting: the settings are data_dir, |must be )/),
		);
	});
}

test("a variable that is no setting is refused, naming it and not its value", async (t) => {
	const folder = await makeFolder(t);
	for (const variable of [
		"SVC_DATADIR",
		"SVC_TLS",
		"SVC_LISTEN_PORT",
		"SVC_",
		"SVC_master_key",
		"SVC_ADDRESSES",
		"SVC_XTOKEN",
	]) {
		assert.throws(
			() => readConfig({ [variable]: "CANARY" }, folder),
			(error) => saying(new RegExp(`^${variable} is not a setting`))(error) && !String(error).includes("CANARY"),
			variable,
		);
	}
});

test("a file that is no TOML is refused without showing what is in it", async (t) => {
	for (const toml of ["CANARY", "listen = CANARY", 'a = "CANARY', 'listen = "a:1"\nlisten = "CANARY:2"']) {
		const folder = await folderWith(t, toml);
		assert.throws(
			() => readConfig({}, folder),
			(error) => saying(/svc\.toml .*\bTOML\b/)(error) && !(error as Error).message.includes("CANARY"),
		);
	}
});

const CONTRADICTIONS: [given: Environment, pattern: RegExp][] = [
	[{ SVC_TLS_MODE: "files" }, /^tls\.mode files .*\btls\.certificate_file\b.*\btls\.key_file$/],
	[{ SVC_TLS_MODE: "files", SVC_TLS_KEY_FILE: "k" }, /^tls\.mode files\b/],
	[{ SVC_TLS_MODE: "files", SVC_TLS_CERTIFICATE_FILE: "c" }, /^tls\.mode files\b/],
	[{ SVC_TLS_MODE: "off", SVC_LISTEN: "0.0.0.0:8443" }, /^tls\.mode off\b/],
	[{ SVC_TLS_MODE: "off", SVC_LISTEN: "[::]:8443" }, /^tls\.mode off\b/],
	[{ SVC_TLS_MODE: "off", SVC_LISTEN: "svc.example.com:80" }, /^tls\.mode off\b/],
	[{ SVC_REGISTRATION_MODE: "domain" }, /^registration\.mode domain .*\bregistration\.allowed_domains$/],
	[{ SVC_REGISTRATION_MODE: "domain", SVC_REGISTRATION_ALLOWED_DOMAINS: " , " }, /^registration\.mode domain\b/],
	[{ SVC_TRUSTED_PROXIES: "localhost" }, /^trusted_proxies\b/],
	[{ SVC_TRUSTED_PROXIES: "10.0.0.0/8" }, /^trusted_proxies\b/],
	[{ SVC_TRUSTED_PROXIES: "10.0.0.1,CANARY" }, /^trusted_proxies\b/],
	[{ SVC_LISTEN: "127.0.0.1:65536" }, /^listen \(SVC_LISTEN\): .*\b65535$/],
	...["127.0.0.1", ":8443", "127.0.0.1:", "::1:80", "[::1]", "a b:1", "host:99999999", "host:-1", "http://host:1"].map(
		(listen): [Environment, RegExp] => [{ SVC_LISTEN: listen }, /^SVC_LISTEN .*\bhost:port$/],
	),
];
for (const [given, pattern] of CONTRADICTIONS) {
	test(`settings that do not go together are refused: ${JSON.stringify(given)}`, async (t) => {
		const folder = await makeFolder(t);
		assert.throws(() => readConfig(given, folder), saying(pattern));
	});
}

test("TLS may be off on loopback, and anywhere behind a proxy that is named", async (t) => {
	const folder = await makeFolder(t);
	for (const listen of ["127.0.0.1:1", "localhost:1", "[::1]:1", "127.9.9.9:1"]) {
		assert.equal(readConfig({ SVC_TLS_MODE: "off", SVC_LISTEN: listen }, folder).tls.mode, "off", listen);
	}
	const behind = { SVC_TLS_MODE: "off", SVC_LISTEN: "0.0.0.0:1", SVC_TRUSTED_PROXIES: "10.0.0.1" };
	assert.equal(readConfig(behind, folder).tls.mode, "off");
});

test("loopback is what stays on this machine", () => {
	for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"]) assert.ok(isLoopback(host), host);
	for (const host of ["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "localhost.example.com", "1127.0.0.1"])
		assert.ok(!isLoopback(host), host);
});
