import assert from "node:assert/strict";
import { test } from "node:test";
import { type Descriptor, type Fields, parseDescriptor } from "@svc/protocol";
import keyvalue from "../../../../../plugins/keyvalue/plugin.json" with { type: "json" };
import pki from "../../../../../plugins/pki/plugin.json" with { type: "json" };
import { AppError } from "../../errors.ts";
import * as KINDS from "../kinds/registry.ts";
import { checkFields as check, environmentOf, maskFields, secretsIn, secretsOf, targetOf as target } from "./fields.ts";

/** Finds the kind of the engine of that name: one of ours, or a third party's. */
const kindOf = ({ name }: Descriptor) => KINDS[name] ?? assert.fail();
const checkFields = (descriptor: Descriptor, given: Fields, current: Fields | undefined) =>
	check(kindOf(descriptor), descriptor, given, current);
const targetOf = (descriptor: Descriptor, fields: Fields) => target(kindOf(descriptor), descriptor, fields, {});

const KEYVALUE = parseDescriptor(keyvalue);
const PKI = parseDescriptor(pki);
const GIVEN = { address: "redis.internal:6379", password: "the password" };

function refused(descriptor: Descriptor, fields: Fields, code: string, message: RegExp, current?: Fields): void {
	assert.throws(
		() => checkFields(descriptor, fields, current),
		(error) => error instanceof AppError && error.code === code && message.test(error.message),
		JSON.stringify(fields),
	);
}

test("what is left out gets the default of config_schema, and null is left out", () => {
	const usual = {
		username: "default",
		tls: false,
		database: 0,
		max_ttl: "24h",
		default_ttl: "1h",
		max_connections: 50,
	};
	assert.deepEqual(checkFields(KEYVALUE, GIVEN, undefined), { ...usual, ...GIVEN });
	assert.deepEqual(checkFields(KEYVALUE, { ...GIVEN, tls: null }, undefined), { ...usual, ...GIVEN });
});

test("a field is known to config_schema, to every engine, or to the core's own connection", () => {
	const more = { allowed_databases: ["a"], exclusive: true, ca_cert: "PEM", acl_save: true };
	const { ca_cert, acl_save, exclusive } = checkFields(KEYVALUE, { ...GIVEN, ...more }, undefined);
	assert.deepEqual({ ca_cert, acl_save, exclusive }, { ca_cert: "PEM", acl_save: true, exclusive: true });
	refused(KEYVALUE, { ...GIVEN, adress: "x" }, "validation_failed", /\bunknown field: .* address, .*acl_save$/);
	refused(PKI, { acl_save: true }, "validation_failed", /unknown field/);
	refused(KEYVALUE, { ...GIVEN, acl_save: "yes" }, "validation_failed", /^acl_save\b/);
});

test("what is missing or of another kind is named", () => {
	refused(KEYVALUE, { password: "p" }, "missing_field", /^address\b/);
	refused(KEYVALUE, { ...GIVEN, password: "" }, "missing_field", /^password\b/);
	refused(KEYVALUE, { ...GIVEN, database: "0" }, "validation_failed", /^database\b/);
	refused(KEYVALUE, { ...GIVEN, default_ttl: "1 hour" }, "invalid_ttl", /^default_ttl: /);
	refused(KEYVALUE, { ...GIVEN, default_ttl: "2h", max_ttl: "1h" }, "invalid_ttl", /^default_ttl .*\bmax_ttl$/);
});

test("a certificate of an authority needs its key", () => {
	refused(PKI, { ca_certificate: "PEM" }, "missing_field", /^ca_private_key .*\bca_certificate\b/);
	assert.deepEqual(checkFields(PKI, { ca_certificate: "PEM", ca_private_key: "KEY" }, undefined), {
		ca_certificate: "PEM",
		ca_private_key: "KEY",
	});
});

test("a secret that is sent as its mask stays, when there is one", () => {
	const kept = checkFields(KEYVALUE, { ...GIVEN, password: "********" }, { ...GIVEN, password: "the former" });
	assert.equal(kept.password, "the former");
	refused(KEYVALUE, { ...GIVEN, password: "********" }, "missing_field", /\bstored\b/);
	assert.equal(checkFields(KEYVALUE, { ...GIVEN, username: "********" }, undefined).username, "********");
	assert.deepEqual(maskFields(KEYVALUE, GIVEN), { ...GIVEN, password: "********" });
});

test("a masked secret stays only where it was given for; of a third party's engine nobody knows where that is", () => {
	const former = { ...GIVEN, password: "the former", tls: true, ca_cert: "PEM" };
	const masked = { ...former, password: "********" };
	assert.equal(checkFields(KEYVALUE, { ...masked, max_ttl: "2h", username: "root" }, former).password, "the former");
	for (const [name, value] of [
		["address", "elsewhere:6379"],
		["tls", false],
		["tls", null],
		["ca_cert", ""],
		["ca_cert", null],
	] as const)
		refused(
			KEYVALUE,
			{ ...masked, [name]: value },
			"missing_field",
			new RegExp(`^password\\b.*: ${name} has changed`),
			former,
		);
	const third = { ...KEYVALUE, name: "constructor" };
	const theirs = { ...GIVEN, password: "the former" };
	const again = { ...theirs, password: "********", max_ttl: "2h", exclusive: true };
	assert.equal(checkFields(third, again, theirs).password, "the former");
	for (const [name, value] of [
		["address", "elsewhere:6379"],
		["username", "root"],
		["database", 1],
	] as const)
		refused(third, { ...again, [name]: value }, "missing_field", new RegExp(`: ${name} has changed`), theirs);
});

test("a password within an address is a secret of its own, as it is written and as it is meant", () => {
	const secret = {
		...KEYVALUE,
		config_schema: { ...KEYVALUE.config_schema, properties: { uri: { type: "string", format: "password" } } },
	} as const;
	const uri = "mongodb://root:p%40ss@db.internal/?tls=true";
	assert.deepEqual(secretsOf(secret, { uri }), [uri, "p%40ss", "p@ss"]);
	assert.deepEqual(secretsOf(secret, { uri: "", other: uri }), []);
	const table: [address: string, passwords: string[]][] = [
		["mongodb://root:se%2Fcret@db:27017/?x=1", ["se%2Fcret", "se/cret"]],
		["mongodb://db:27017", []],
		["mongodb://root@db:27017", []],
		["mongodb://root:@db:27017", []],
		["mongodb://root:100%@db", ["100%"]],
		["mongodb://root:se/cret@db/?x=@", ["se/cret"]],
		["mongodb://root:se@cret@db/?x=@", ["se@cret", "se"]],
		["MongoDB+SRV://root:secret@db", ["secret"]],
	];
	for (const [address, passwords] of table) assert.deepEqual(secretsIn(address), [address, ...passwords]);
});

test("only fields that name a variable reach the process", () => {
	assert.deepEqual(environmentOf(KEYVALUE, GIVEN), {});
	assert.deepEqual(environmentOf(PKI, { ca_certificate: "PEM", exclusive: true }), { SVC_PKI_CA_CERT: "PEM" });
});

test("a new password or limit leads to the same target, another address does not", () => {
	const known = targetOf(KEYVALUE, GIVEN);
	assert.equal(
		targetOf(KEYVALUE, { ...GIVEN, password: "new", max_connections: 1, address: "REDIS.internal:6379" }),
		known,
	);
	assert.notEqual(targetOf(KEYVALUE, { ...GIVEN, address: "redis.internal:6380" }), known);
});
