import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FatalError } from "../../errors.ts";
import { Redacted } from "../../redacted.ts";
import { makeFolder } from "../../testing/store.ts";
import { type Address, readAddresses } from "./address.ts";

const readAll = (url: string, password_file?: string, credentials_dir?: string) =>
	readAddresses({ database: { url: new Redacted(url), password_file, bytes: undefined }, credentials_dir });

const read = (...given: Parameters<typeof readAll>): Address => {
	const [address, ...others] = readAll(...given);
	assert.deepEqual(others, []);
	return address ?? assert.fail();
};

const refuses = (url: string, pattern: RegExp) =>
	assert.throws(
		() => read(url),
		(error) =>
			error instanceof FatalError &&
			error.exitCode === 78 &&
			pattern.test(error.message) &&
			!/CANARY/.test(error.message),
	);

const PLAIN = { port: 5432, database: "svc", user: "ada", password: "" };

test("the database on loopback or a Unix socket is reached without TLS", () => {
	assert.deepEqual(read("postgres://ada@localhost/svc"), { ...PLAIN, host: "localhost" });
	assert.deepEqual(read("postgresql://ada@127.0.0.2:6432/svc"), { ...PLAIN, host: "127.0.0.2", port: 6432 });
	assert.deepEqual(read("postgres://ada@[::1]/svc?sslmode=disable"), { ...PLAIN, host: "::1" });
	assert.deepEqual(read("postgres://ada@localhost/svc?host=/run/postgresql"), { ...PLAIN, host: "/run/postgresql" });
	assert.deepEqual(read("postgres://ada@%2Frun%2Fpostgresql/svc"), { ...PLAIN, host: "/run/postgresql" });
});

test("every other database is reached with TLS and a verified name, and may not be without", async (t) => {
	assert.deepEqual(read("postgres://ada@db.lan/svc"), { ...PLAIN, host: "db.lan", tls: { ca: undefined } });
	assert.deepEqual(read("postgres://ada@10.0.0.1/svc?sslmode=verify-full").tls, { ca: undefined });
	assert.deepEqual(read("postgres://ada@localhost/svc?sslmode=verify-full").tls, { ca: undefined });
	const file = join(await makeFolder(t), "ca.crt");
	writeFileSync(file, "a certificate");
	assert.deepEqual(read(`postgres://ada@db.lan/svc?sslrootcert=${file}`).tls, { ca: "a certificate" });
	refuses("postgres://ada@db.lan/svc?sslrootcert=/none/ca.crt", /ENOENT/);
	for (const mode of ["disable", "prefer", "require", "verify-ca"])
		refuses(`postgres://ada@db.lan/svc?sslmode=${mode}`, /sslmode/);
	for (const mode of ["prefer", "require"]) refuses(`postgres://ada@localhost/svc?sslmode=${mode}`, /sslmode/);
});

test("several hosts are several addresses, each with the user, password and database", () => {
	assert.deepEqual(readAll("postgres://ada:p%40ss@localhost:5433,[::1],db.lan:6432/svc"), [
		{ ...PLAIN, password: "p@ss", host: "localhost", port: 5433 },
		{ ...PLAIN, password: "p@ss", host: "::1" },
		{ ...PLAIN, password: "p@ss", host: "db.lan", port: 6432, tls: { ca: undefined } },
	]);
	refuses("postgres://ada@localhost,db.lan/svc?sslmode=disable", /sslmode/);
});

test("a user, password or database may have any characters, escaped", () => {
	const { user, password, database } = read("postgres://a%40b:p%3A%2F%25@localhost/my%20svc");
	assert.deepEqual({ user, password, database }, { user: "a@b", password: "p:/%", database: "my svc" });
});

test("the credential's password overrides the file's, which overrides the address's", async (t) => {
	const folder = await makeFolder(t);
	const file = join(folder, "password");
	writeFileSync(file, "of the file\n", { mode: 0o600 });
	const url = "postgres://ada:of%20the%20address@localhost/svc";
	assert.equal(read(url).password, "of the address");
	assert.equal(read(url, file).password, "of the file");
	assert.equal(read(url, file, folder).password, "of the file");
	writeFileSync(join(folder, "database-password"), "of the credential");
	assert.equal(read(url, file, folder).password, "of the credential");
	chmodSync(file, 0o640);
	assert.throws(() => read(url, file), FatalError);
	assert.throws(() => read(url, join(folder, "none")), FatalError);
});

test("an address that names too little or too much is refused without repeating it", () => {
	refuses("postgres://localhost/CANARY", /user/);
	refuses("postgres://CANARY@localhost", /database/);
	refuses("postgres:///CANARY", /host/);
	refuses("postgres://CANARY@/svc", /address/);
	refuses("postgres://CANARY@one,/svc", /address|host/);
	refuses("postgres://CANARY@one,two:CANARY/svc", /address/);
	refuses("postgres://CANARY@one,two/svc?host=/run/postgresql", /several hosts/);
	refuses("postgres://CANARY@one/svc?host=/run/a,/run/b", /several hosts/);
	refuses("postgres://ada:CANARY%@localhost/svc", /hexadecimal/);
	refuses("postgres://ada@localhost/svc?CANARY=1", /parameters/);
	refuses("postgres://ada@localhost/svc?options=-c%20CANARY", /parameters/);
	refuses("postgres://ada@localhost/svc?host=CANARY&host=b", /parameters/);
});
