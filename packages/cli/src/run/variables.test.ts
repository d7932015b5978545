import assert from "node:assert/strict";
import test from "node:test";
import type { Failure } from "../failure.ts";
import { parseLease } from "../input/lease-request.ts";
import { unexpandedName } from "./shell.ts";
import { checkVariables, variablesOf } from "./variables.ts";

const secretsOf = (...keys: string[]) => keys.map((key) => ({ key, value: "value" }));
const namesOf = (...keys: string[]) => variablesOf(secretsOf(...keys), { mapNames: true }).map(({ name }) => name);

test("names that decide what runs are reserved, and no others", () => {
	for (const key of [
		"PATH",
		"LD_PRELOAD",
		"NODE_OPTIONS",
		"BASH_ENV",
		"PYTHONPATH",
		"GIT_SSH_COMMAND",
		"GIT_PAGER",
		"LESSOPEN",
		"OPENSSL_CONF",
		"ZDOTDIR",
		"SVC_TOKEN",
		"IFS",
	])
		assert.throws(() => namesOf(key), { message: new RegExp(`^${key} `) }, key);
	const plain = [
		"DATABASE_URL",
		"NODE_ENV",
		"MY_PATH",
		"PATHS",
		"LDAP_URL",
		"PYTHON_VERSION",
		"GITHUB_TOKEN",
		"OPENSSL_KEY",
		"LESS",
		"ENV",
		"_a1",
	];
	assert.deepEqual(namesOf(...plain), plain);
});

test("what no variable can hold or be called is refused by its key, all at once", () => {
	const refused = (keys: string[], value: string, options = {}) => {
		try {
			checkVariables(
				variablesOf(
					keys.map((key) => ({ key, value })),
					options,
				),
			);
			return "";
		} catch (error) {
			return (error as Failure).message;
		}
	};
	assert.match(refused(["a-b", "OK", "1st"], "v"), /^a-b .*; 1st /);
	assert.match(refused(["1st"], "v", { mapNames: true }), /^1st /);
	assert.equal(refused(["1st"], "v", { prefix: "_" }), "");
	assert.match(refused(["A"], "a\0b"), /^A .*\bNUL\b/);
	assert.match(refused(["A"], "ä".repeat(65_536)), /^A .*\b128 KiB\b/);
	assert.equal(refused(["A"], "x".repeat(128 * 1024 - 3)), "");
	assert.match(refused(["A.B", "A_B"], "v", { mapNames: true }), /^A_B .*\banother\b/);
});

test("a wish for a lease has an engine and a role, and may have a name and params", () => {
	assert.deepEqual(parseLease("keyvalue:readonly"), {
		prefix: "keyvalue",
		type: "keyvalue",
		params: { role: "readonly" },
	});
	assert.deepEqual(parseLease("db2=documentdb:readWrite,database=a=b,ttl=1h"), {
		prefix: "db2",
		type: "documentdb",
		params: { role: "readWrite", database: "a=b", ttl: "1h" },
	});
	assert.deepEqual(parseLease("pki:client,ttl=7d").params, { role: "client", ttl: "168h" });
});

test("a word that names a variable as in a shell is seen where no shell is", () => {
	const variables = variablesOf(secretsOf("A"), {});
	const seen = (...words: string[]) => unexpandedName(words, variables);
	assert.equal(seen("echo", "x$A"), "A");
	assert.equal(seen("echo", `\${A}`), "A");
	assert.equal(seen("echo", "$AB", "$B", "A"), undefined);
	assert.equal(seen("env", "/bin/bash", "-c", "echo $A"), undefined);
});
