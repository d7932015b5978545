import assert from "node:assert/strict";
import { test } from "node:test";
import {
	DescriptorError,
	describeData,
	disagreement,
	engineCapabilities,
	parseDescribeData,
	parseDescriptor,
} from "./descriptor.ts";

const MINIMAL = {
	name: "voucher",
	version: "0.1.0",
	display_name: "Vouchers",
	description: "Makes voucher numbers",
	sdk_version: 1,
	min_core_version: "0.1.0",
	capabilities: ["engine:secret_generation", "engine:secret_validation"],
	tier: "community",
	config_schema: { type: "object", properties: {} },
	default_roles: [],
};

const SAID = {
	name: "voucher",
	version: "0.1.0",
	display_name: "Vouchers",
	description: "Makes voucher numbers",
	capabilities: ["secret_generation", "secret_validation"],
};

test("a descriptor with the fields of the specification is read, and what may be left out gets its default", () => {
	assert.deepEqual(parseDescriptor(MINIMAL), {
		...MINIMAL,
		arguments: [],
		config_schema: { type: "object", properties: {}, required: [] },
	});
});

test("a descriptor may have everything that the contract names", () => {
	const whole = {
		...MINIMAL,
		version: "1.20.300-rc.1",
		capabilities: [
			...["host:http", "host:store:read", "host:store:write", "host:audit"],
			...["engine:dynamic_credentials", "engine:lease_hint"],
		],
		config_schema: {
			type: "object",
			properties: {
				address: { type: "string", description: "host:port", default: "localhost:1", env: "SVC_VOUCHER_ADDRESS" },
				password: { type: "string", format: "password" },
				database: { type: "integer", minimum: 0 },
			},
			required: ["address"],
			additionalProperties: false,
		},
		default_roles: [{ name: "reader", config: { rules: ["a"], nested: { b: 1 } } }],
		executable: "voucher.sh",
		arguments: ["--quiet", ""],
		sha256: "0123456789abcdef".repeat(4),
	};
	assert.deepEqual(parseDescriptor(whole), whole);
});

/** Changes of the minimal descriptor, and the field that each refusal names. */
const REFUSED: [change: object, field: string][] = [
	...Object.keys(MINIMAL).map((name): [object, string] => [{ [name]: undefined }, name]),
	[{ name: 5 }, "name"],
	...["", "Voucher", "1a", "a_b", "a b", "../a", `a${"b".repeat(40)}`, "a\n"].map((name): [object, string] => [
		{ name },
		"name",
	]),
	...["1", "1.0", "v1.0.0", "1.0.0.0", "1.0.0 ", "one"].map((version): [object, string] => [{ version }, "version"]),
	[{ display_name: "" }, "display_name"],
	[{ description: "x".repeat(1001) }, "description"],
	[{ sdk_version: 2 }, "sdk_version"],
	[{ sdk_version: "1" }, "sdk_version"],
	[{ capabilities: "engine:secret_generation" }, "capabilities"],
	[{ capabilities: ["fly"] }, "capabilities.0"],
	[{ config_schema: { type: "array", properties: {} } }, "config_schema.type"],
	[{ config_schema: { type: "object" } }, "config_schema.properties"],
	[{ config_schema: { type: "object", properties: { Bad: { type: "string" } } } }, "config_schema.properties.Bad"],
	...["PATH", "LD_PRELOAD", "SVC_", "svc_a", "SVC_a", "XSVC_A"].map((env): [object, string] => [
		{ config_schema: { type: "object", properties: { a: { type: "string", env } } } },
		"config_schema.properties.a.env",
	]),
	...["a", "constructor"].map((name): [object, string] => [
		{ config_schema: { type: "object", properties: {}, required: [name] } },
		"config_schema",
	]),
	[
		{
			default_roles: [
				{ name: "a", config: {} },
				{ name: "a", config: {} },
			],
		},
		"default_roles",
	],
	[{ default_roles: [{ name: "a" }] }, "default_roles.0.config"],
	...["/bin/sh", "../voucher", "a/b", ".hidden", "", "a b", "-c"].map((executable): [object, string] => [
		{ executable },
		"executable",
	]),
	[{ arguments: "a" }, "arguments"],
	[{ sha256: "ABCDEF".repeat(11).slice(0, 64) }, "sha256"],
];
for (const [change, field] of REFUSED) {
	test(`a descriptor is refused for its ${field}: ${JSON.stringify(change).slice(0, 60)}`, () => {
		assert.throws(
			() => parseDescriptor({ ...MINIMAL, ...change }),
			(error) => error instanceof DescriptorError && error.message.startsWith(`plugin.json: ${field} `),
		);
	});
}

test("anything that is not an object is not a descriptor", () => {
	for (const value of [null, undefined, "x", 5, []]) assert.throws(() => parseDescriptor(value), DescriptorError);
});

test("a refusal never quotes a value", () => {
	for (const field of Object.keys(MINIMAL)) {
		assert.throws(
			() => parseDescriptor({ ...MINIMAL, [field]: { CANARY: "CANARY" } }),
			(error) => error instanceof DescriptorError && !error.message.includes("CANARY"),
			field,
		);
	}
});

test("what an engine is for is read without its prefix, and what is not known counts for nothing", () => {
	const capabilities = ["engine:lease_hint", "host:http", "engine:dynamic_credentials", "engine:flying"];
	assert.deepEqual(engineCapabilities({ capabilities }), ["dynamic_credentials", "lease_hint"]);
	assert.deepEqual(engineCapabilities({ capabilities: ["dynamic_credentials", "host:dynamic_credentials"] }), []);
});

test("describe answers the descriptor's fields, without lease_hint and list", () => {
	assert.deepEqual(describeData(parseDescriptor(MINIMAL)), SAID);
	const capabilities = ["engine:dynamic_credentials", "engine:lease_hint", "engine:list"];
	assert.deepEqual(describeData(parseDescriptor({ ...MINIMAL, capabilities })).capabilities, ["dynamic_credentials"]);
});

test("an answer to describe may have more fields than asked for", () => {
	const said = { ...SAID, sdk_version: 1, min_core_version: "0.1.0", homepage: "https://example.com" };
	assert.deepEqual(parseDescribeData(said), said);
});

test("an answer to describe is refused without a field, with an unknown capability or with another contract", () => {
	const changes = [
		...Object.keys(SAID).map((name) => ({ [name]: undefined })),
		...[{ capabilities: [] }, { capabilities: ["flying"] }, { capabilities: ["engine:secret_generation"] }],
		...[{ sdk_version: 2 }, { min_core_version: "soon" }, { name: "Voucher" }],
	];
	for (const change of changes) {
		assert.throws(
			() => parseDescribeData({ ...SAID, ...change }),
			/^DescriptorError: describe: /,
			JSON.stringify(change),
		);
	}
});

test("an engine agrees with its plugin.json in name, version and what it is for; texts for people may differ", () => {
	const descriptor = parseDescriptor(MINIMAL);
	const compare = (change: object) => disagreement(descriptor, parseDescribeData({ ...SAID, ...change }));
	assert.equal(compare({}), undefined);
	assert.equal(compare({ display_name: "Gutscheine", description: "" }), undefined);
	assert.equal(compare({ capabilities: SAID.capabilities.toReversed() }), undefined);
	assert.match(compare({ name: "other" }) ?? "", /\banother name\b/);
	assert.match(compare({ version: "0.1.1" }) ?? "", /\banother version\b/);
	const capabilities = [...SAID.capabilities, "dynamic_credentials"];
	assert.match(compare({ capabilities }) ?? "", /\bdoes not declare\b/);
	assert.match(compare({ capabilities: ["secret_generation"] }) ?? "", /\bleaves out a capability\b/);
});

test("lease_hint and list are declared in plugin.json and need not be said by the engine", () => {
	const capabilities = ["engine:dynamic_credentials", "engine:lease_hint", "engine:list"];
	const descriptor = parseDescriptor({ ...MINIMAL, capabilities });
	for (const said of [["dynamic_credentials"], ["dynamic_credentials", "lease_hint", "list"]]) {
		assert.equal(disagreement(descriptor, parseDescribeData({ ...SAID, capabilities: said })), undefined);
	}
});
