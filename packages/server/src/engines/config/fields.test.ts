import assert from "node:assert/strict";
import { test } from "node:test";
import { type Descriptor, type Fields, parseDescriptor } from "@svc/protocol";
import { AppError } from "../../errors.ts";
import { descriptorOf } from "../host/testing.ts";
import type { Kind } from "../kinds/kind.ts";
import { checkFields as check, environmentOf, maskFields, secretsIn, secretsOf, targetOf as target } from "./fields.ts";

const password = { type: "string", format: "password" };

const STORE = parseDescriptor(
	descriptorOf("store", {
		config_schema: {
			type: "object",
			properties: {
				address: { type: "string" },
				password,
				username: { type: "string", default: "default" },
				tls: { type: "boolean", default: false },
				database: { type: "integer", default: 0 },
				max_ttl: { type: "string", default: "24h" },
				default_ttl: { type: "string", default: "1h" },
				max_connections: { type: "integer", default: 50 },
			},
			required: ["address", "password"],
		},
	}),
);

const AUTHORITY = parseDescriptor(
	descriptorOf("authority", {
		config_schema: {
			type: "object",
			properties: {
				certificate: { type: "string", env: "SVC_CERTIFICATE" },
				private_key: { ...password, env: "SVC_PRIVATE_KEY" },
			},
			dependentRequired: { certificate: ["private_key"] },
		},
	}),
);

/** Kinds by type; an engine of a third party has none of its own. */
const KINDS: Record<string, Kind> = {
	store: {
		address: ({ address }) => String(address).toLowerCase(),
		fields: { ca_cert: { type: "string" }, saves: { type: "boolean" } },
		destination: ["address", "tls", "ca_cert"],
	},
};

const kindOf = ({ name }: Descriptor) => KINDS[name] ?? {};
const checkFields = (descriptor: Descriptor, given: Fields, current: Fields | undefined) =>
	check(kindOf(descriptor), descriptor, given, current);
const targetOf = (descriptor: Descriptor, fields: Fields) => target(kindOf(descriptor), descriptor, fields, {});

const GIVEN = { address: "store.internal:6379", password: "the password" };

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
	assert.deepEqual(checkFields(STORE, GIVEN, undefined), { ...usual, ...GIVEN });
	assert.deepEqual(checkFields(STORE, { ...GIVEN, tls: null }, undefined), { ...usual, ...GIVEN });
});

test("a field is known to config_schema, to every engine, or to the core's own connection", () => {
	const more = { allowed_databases: ["a"], exclusive: true, ca_cert: "PEM", saves: true };
	const { ca_cert, saves, exclusive } = checkFields(STORE, { ...GIVEN, ...more }, undefined);
	assert.deepEqual({ ca_cert, saves, exclusive }, { ca_cert: "PEM", saves: true, exclusive: true });
	refused(STORE, { ...GIVEN, adress: "x" }, "validation_failed", /\bunknown field: .* address, .*saves$/);
	refused(AUTHORITY, { saves: true }, "validation_failed", /unknown field/);
	refused(STORE, { ...GIVEN, saves: "yes" }, "validation_failed", /^saves\b/);
});

test("what is missing or of another kind is named", () => {
	refused(STORE, { password: "p" }, "missing_field", /^address\b/);
	refused(STORE, { ...GIVEN, password: "" }, "missing_field", /^password\b/);
	refused(STORE, { ...GIVEN, database: "0" }, "validation_failed", /^database\b/);
	refused(STORE, { ...GIVEN, default_ttl: "1 hour" }, "invalid_ttl", /^default_ttl: /);
	refused(STORE, { ...GIVEN, default_ttl: "2h", max_ttl: "1h" }, "invalid_ttl", /^default_ttl .*\bmax_ttl$/);
});

test("a certificate of an authority needs its key", () => {
	refused(AUTHORITY, { certificate: "PEM" }, "missing_field", /^private_key .*\bcertificate\b/);
	assert.deepEqual(checkFields(AUTHORITY, { certificate: "PEM", private_key: "KEY" }, undefined), {
		certificate: "PEM",
		private_key: "KEY",
	});
});

test("a secret that is sent as its mask stays, when there is one", () => {
	const kept = checkFields(STORE, { ...GIVEN, password: "********" }, { ...GIVEN, password: "the former" });
	assert.equal(kept.password, "the former");
	refused(STORE, { ...GIVEN, password: "********" }, "missing_field", /\bstored\b/);
	assert.equal(checkFields(STORE, { ...GIVEN, username: "********" }, undefined).username, "********");
	assert.deepEqual(maskFields(STORE, GIVEN), { ...GIVEN, password: "********" });
});

test("a masked secret stays only where it was given for; of a third party's engine nobody knows where that is", () => {
	const former = { ...GIVEN, password: "the former", tls: true, ca_cert: "PEM" };
	const masked = { ...former, password: "********" };
	assert.equal(checkFields(STORE, { ...masked, max_ttl: "2h", username: "root" }, former).password, "the former");
	for (const [name, value] of [
		["address", "elsewhere:6379"],
		["tls", false],
		["tls", null],
		["ca_cert", ""],
		["ca_cert", null],
	] as const)
		refused(
			STORE,
			{ ...masked, [name]: value },
			"missing_field",
			new RegExp(`^password\\b.*: ${name} has changed`),
			former,
		);
	const third = { ...STORE, name: "foreign" };
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
		...STORE,
		config_schema: { ...STORE.config_schema, properties: { uri: { type: "string", format: "password" } } },
	} as const;
	const uri = "db://root:p%40ss@db.internal/?tls=true";
	assert.deepEqual(secretsOf(secret, { uri }), [uri, "p%40ss", "p@ss"]);
	assert.deepEqual(secretsOf(secret, { uri: "", other: uri }), []);
	const table: [address: string, passwords: string[]][] = [
		["db://root:se%2Fcret@db:27017/?x=1", ["se%2Fcret", "se/cret"]],
		["db://db:27017", []],
		["db://root@db:27017", []],
		["db://root:@db:27017", []],
		["db://root:100%@db", ["100%"]],
		["db://root:se/cret@db/?x=@", ["se/cret"]],
		["db://root:se@cret@db/?x=@", ["se@cret", "se"]],
		["DB+TLS://root:secret@db", ["secret"]],
	];
	for (const [address, passwords] of table) assert.deepEqual(secretsIn(address), [address, ...passwords]);
});

test("only fields that name a variable reach the process", () => {
	assert.deepEqual(environmentOf(STORE, GIVEN), {});
	assert.deepEqual(environmentOf(AUTHORITY, { certificate: "PEM", exclusive: true }), { SVC_CERTIFICATE: "PEM" });
});

test("a new password or limit leads to the same target, another address does not", () => {
	const known = targetOf(STORE, GIVEN);
	assert.equal(
		targetOf(STORE, { ...GIVEN, password: "new", max_connections: 1, address: "STORE.internal:6379" }),
		known,
	);
	assert.notEqual(targetOf(STORE, { ...GIVEN, address: "store.internal:6380" }), known);
});
