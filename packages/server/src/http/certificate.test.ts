import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Config, readConfig } from "../config.ts";
import { FatalError } from "../errors.ts";
import { makeFolder } from "../testing/store.ts";
import { createTestSystem } from "../testing/system.ts";
import { loadTls } from "./certificate.ts";
import { TLS_FILES } from "./tls-files.ts";

const system = createTestSystem();
const saying = (pattern: RegExp) => (error: unknown) => error instanceof FatalError && pattern.test(error.message);

/** Settings with a data directory of their own. */
async function configOf(t: TestContext, env: Record<string, string> = {}): Promise<Config> {
	const folder = await makeFolder(t);
	return readConfig({ SVC_DATA_DIR: folder, ...env }, folder);
}

const load = (config: Config) => loadTls(config, system) ?? assert.fail("TLS is off");
const pathsOf = ({ data_dir }: Config) => TLS_FILES.map((name) => join(data_dir, name));

test("with TLS off there is no certificate, and none is made", async (t) => {
	const config = await configOf(t, { SVC_TLS_MODE: "off" });
	assert.equal(loadTls(config, system), undefined);
	for (const path of pathsOf(config)) assert.throws(() => statSync(path), { code: "ENOENT" });
});

test("the first start makes a pair that is the owner's alone, and the second finds the same", async (t) => {
	const config = await configOf(t);
	const made = load(config);
	for (const path of pathsOf(config)) assert.equal(statSync(path).mode & 0o777, 0o600, path);
	assert.deepEqual(load(config), made);
	assert.equal(made.file, join(config.data_dir, "tls.crt"));
	const certificate = new X509Certificate(made.certificate);
	assert.equal(made.fingerprint, certificate.fingerprint256);
	assert.ok(certificate.checkPrivateKey(createPrivateKey(made.private_key)));
});

test("the certificate is for this machine and for the names that are configured, and for no address that means all", async (t) => {
	const config = await configOf(t, { SVC_LISTEN: "0.0.0.0:8443", SVC_BASE_URL: "https://svc.example.com:8443/x" });
	const certificate = new X509Certificate(load(config).certificate);
	for (const name of ["localhost", "svc.example.com"]) assert.ok(certificate.checkHost(name), name);
	for (const address of ["127.0.0.1", "::1"]) assert.ok(certificate.checkIP(address), address);
	assert.equal(certificate.checkHost("other.example.com"), undefined);
	assert.equal(certificate.checkIP("0.0.0.0"), undefined);
});

test("a pair of which one half is missing is made again, both halves", async (t) => {
	const config = await configOf(t);
	const made = load(config);
	rmSync(join(config.data_dir, "tls.crt"));
	const again = load(config);
	assert.notEqual(again.private_key, made.private_key);
	assert.notEqual(again.fingerprint, made.fingerprint);
});

test("files that are named are read and never made, and what is missing or wrong is named", async (t) => {
	const own = load(await configOf(t));
	const folder = await makeFolder(t);
	const files = {
		SVC_TLS_MODE: "files",
		SVC_TLS_CERTIFICATE_FILE: join(folder, "c"),
		SVC_TLS_KEY_FILE: join(folder, "k"),
	};
	const config = await configOf(t, files);
	assert.throws(() => load(config), saying(/\bTLS certificate .*\/c\b/));
	writeFileSync(join(folder, "c"), "CANARY");
	assert.throws(() => load(config), saying(/\bTLS key .*\/k\b/));
	writeFileSync(join(folder, "k"), own.private_key);
	assert.throws(() => load(config), saying(/\/c .*\bPEM\b/));
	writeFileSync(join(folder, "c"), own.certificate);
	const { fingerprint, private_key } = load(config);
	assert.deepEqual([fingerprint, private_key], [own.fingerprint, own.private_key]);
	assert.equal(readFileSync(join(folder, "c"), "utf8"), own.certificate);
});
