import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import * as KINDS from "../packages/server/src/engines/kinds/registry.ts";
import { files, importsOf, isTest, read, root } from "./harness/sources.ts";

/** Folders that a folder may import, in addition to the leaves. The arrows of docs/architecture.md. */
const LEAVES = [
	"errors.ts",
	"release.ts",
	"expiry.ts",
	"messages.ts",
	"names.ts",
	"normal-text.ts",
	"operation.ts",
	"system.ts",
	"durable-file.ts",
	"file-hash.ts",
	"redacted.ts",
	"log.ts",
	"pagination.ts",
	"config.ts",
	"semaphore.ts",
	"fair-queue.ts",
	"fair-cache.ts",
	"attempt-counter.ts",
	"cache.ts",
	"asset.ts",
	"source.ts",
	"limits.ts",
	"request-slot.ts",
	"streamed.ts",
	"crypto/public-key-algorithms.ts",
	"threads/answer-questions.ts",
	"threads/thread-pool.ts",
];
const ARROWS: Record<string, { from: RegExp; may: RegExp }[]> = {
	"packages/server/src": [
		{
			from: /^(errors|messages|names|normal-text|system|redacted|log|pagination)\.ts$/,
			may: /^(errors|messages|system|redacted|log)\.ts$/,
		},
		// The settings know an unknown variable from one for an engine before any engine is loaded.
		{ from: /^config\.ts$/, may: /^engines\/kinds\/variables\.ts$/ },
		{ from: /^crypto\//, may: /^(crypto\/|audit\/model\.ts$)/ },
		// A backup covers everything.
		{ from: /^backups\/model\.ts$/, may: /\/(model|keyring-model|comparison|rights|row-macs)\.ts$/ },
		{
			from: /^(\w|-)+\/model\.ts$/,
			may: /^(policy|audit|accounts|tokens|machines)\/model\.ts$|^audit\/(comparison|event-query|event-types|key-parts)\.ts$|^crypto\/(keyring-model|seal)\.ts$/,
		},
		{ from: /^store\/store\.ts$/, may: /\/(model|keyring-model|row-macs)\.ts$/ },
		{ from: /^store\/unsuitable\.ts$/, may: /^health\/model\.ts$/ },
		{ from: /^store\/fullest\.ts$/, may: /^store\/shared-sql\.ts$/ },
		{ from: /^store\/low-disk\.ts$/, may: /^audit\/model\.ts$/ },
		{ from: /^store\/shared-sql\.ts$/, may: /^store\/row-kinds\.ts$/ },
		{ from: /^store\/cache\.ts$/, may: /^store\/store\.ts$/ },
		{ from: /^store\/row-names\.ts$/, may: /^store\/row-kinds\.ts$|^crypto\/row-macs\.ts$/ },
		{
			from: /^store\/(lease-states|renewal-position|row-ledger)\.ts$/,
			may: /^store\/(row-names|row-kinds)\.ts$|^(crypto\/row-macs|audit\/chain|leases\/model)\.ts$/,
		},
		{
			from: /^store\/row-(replay|descriptions)\.ts$/,
			may: /^store\/row-(names|kinds)\.ts$|^(crypto\/row-macs|audit\/(model|comparison|event-makers|named-rows|stored-json))\.ts$/,
		},
		// Decisions within a transaction use the nouns' own rules.
		{
			from: /^store\/(sqlite|postgres|memory)\//,
			may: /^store\/|\/(model|keyring-model|decide)\.ts$|^audit\/(chain|verify|comparison|event-query|event-types|key-parts|granting-(types|rows)|rights|machine-rights|named-rows|event-makers|stored-json)\.ts$|^crypto\/row-macs\.ts$/,
		},
		{ from: /^attempts\//, may: /^attempts\/model\.ts$/ },
		{ from: /^policy\//, may: /^(policy\/|crypto\/(api-token|session)\.ts$|http\/route\.ts$)|\/model\.ts$/ },
		{ from: /^realms\//, may: /^(realms\/|policy\/|crypto\/|http\/route\.ts$)|\/model\.ts$/ },
		{
			from: /^secrets\//,
			may: /^(secrets\/|policy\/|crypto\/|audit\/(bulk-reads|key-parts)\.ts$|http\/route\.ts$)|\/model\.ts$/,
		},
		{ from: /^tokens\//, may: /^(tokens\/|policy\/|crypto\/|http\/route\.ts$)|\/model\.ts$/ },
		{ from: /^machines\//, may: /^(machines\/|policy\/|crypto\/|http\/route\.ts$)|\/model\.ts$/ },
		{
			from: /^accounts\//,
			may: /^(accounts\/|policy\/|crypto\/|(factors\/(owner|use)|invitations\/use|http\/route)\.ts$)|\/model\.ts$/,
		},
		{
			from: /^(resets|invitations|factors)\//,
			may: /^(resets|invitations|factors|policy|crypto)\/|^accounts\/(throttle|password-queue)\.ts$|^http\/route\.ts$|\/model\.ts$/,
		},
		{ from: /^audit\//, may: /^(audit\/|policy\/|crypto\/keyring\.ts$|http\/route\.ts$)|\/model\.ts$/ },
		{
			from: /^engines\//,
			may: /^(engines\/|policy\/|crypto\/|http\/route\.ts$|leases\/(events|leases|clock|pause|reaper)\.ts$)|\/model\.ts$/,
		},
		{ from: /^sso\/oidc\//, may: /^sso\/(oidc\/|address\.ts$|model\.ts$|settings\.ts$)/ },
		{ from: /^sso\/saml\//, may: /^sso\/(saml\/|address\.ts$|model\.ts$|settings\.ts$)/ },
		{ from: /^sso\/ldap\//, may: /^sso\/(ldap\/|address\.ts$|model\.ts$|settings\.ts$)/ },
		{
			from: /^sso\//,
			may: /^(sso\/|invitations\/use\.ts$|factors\/owner\.ts$|accounts\/(session|throttle|known-sources|password-queue)\.ts$|policy\/|crypto\/|http\/route\.ts$)|\/model\.ts$/,
		},
		// Verification stands alone.
		{
			from: /^trusts\/(jwt|jwks|claim-paths|refusal|verify|private-addresses|dns-lookup|fetch|issuer-keys)\.ts$/,
			may: /^trusts\/(jwt|jwks|claim-paths|refusal|verify|private-addresses|dns-lookup|fetch|issuer-keys)\.ts$/,
		},
		{
			from: /^trusts\//,
			may: /^(trusts\/|machines\/manage\.ts$|accounts\/throttle\.ts$|policy\/|crypto\/|http\/(route|scheduler)\.ts$)|\/model\.ts$/,
		},
		{ from: /^nodes\//, may: /^(nodes\/|policy\/|http\/route\.ts$)|\/model\.ts$/ },
		{ from: /^keys\//, may: /^(keys\/|policy\/|crypto\/|http\/route\.ts$)|\/model\.ts$/ },
		{ from: /^leases\//, may: /^(leases\/|policy\/|http\/route\.ts$)|\/model\.ts$/ },
		{
			from: /^revocation\//,
			may: /^(revocation\/|policy\/|http\/route\.ts$|leases\/(clock|reaper)\.ts$)|\/model\.ts$/,
		},
		{ from: /^operator-sync\//, may: /^(secrets\/(secrets|lists)\.ts|http\/route\.ts)$/ },
		{ from: /^health\//, may: /^(health\/|crypto\/|http\/route\.ts$)|\/model\.ts$|^store\/store\.ts$/ },
		{ from: /^http\//, may: /^http\/|^policy\/model\.ts$/ },
		// The pages call the nouns' rules, as their routes do. Only the program's own constants are markup.
		{
			from: /^console\//,
			may: /^console\/|^http\/(pages|input)\.ts$|^crypto\/(session|key-set|keyring-model)\.ts$|^engines\/(config\/(config|fields)|host\/(catalog|model))\.ts$|^audit\/event-types\.ts$|^(accounts|audit|backups|doctor|engines|factors|health|invitations|keys|leases|machines|policy|realms|resets|revocation|secrets|sso|tokens|trusts)\/((?!routes)\w+|model)\.ts$/,
		},
		{ from: /^backups\//, may: /^(backups\/|policy\/|crypto\/|audit\/proof\.ts$|http\/route\.ts$)|\/model\.ts$/ },
		{
			from: /^doctor\//,
			may: /^(doctor\/|policy\/|crypto\/keyring\.ts$|audit\/proof\.ts$|http\/route\.ts$)|\/model\.ts$/,
		},
		{ from: /^(wiring\/|(main|offline)\.ts$)/, may: /./ },
	],
	// Each folder may import the ones before it.
	"packages/cli/src": [
		{ from: /^io\//, may: /^(failure\.ts|io\/)/ },
		{ from: /^command-line\//, may: /^(failure\.ts|(io|command-line)\/)/ },
		{ from: /^client\//, may: /^(failure\.ts|(io|command-line|client)\/)/ },
		{ from: /^input\//, may: /^(failure\.ts|(io|command-line|client|input)\/)/ },
		{ from: /^formats\//, may: /^(failure\.ts|(io|client|input|formats)\/)/ },
		{ from: /^run\//, may: /^(failure\.ts|(io|command-line|client|input|formats|run)\/)/ },
		{ from: /^login\//, may: /^(failure\.ts|(io|command-line|client|login)\/)/ },
		{ from: /^completion\//, may: /^(command-line|input|completion)\// },
		{ from: /^testing\//, may: /^(testing|io)\/|^main\.ts$/ },
		{ from: /^(commands\/|main\.ts$)/, may: /./ },
	],
};

/** Packages that only some folders may name. */
const RESERVED: { package: RegExp; only: RegExp }[] = [
	{ package: /^drizzle-orm/, only: /^packages\/server\/src\/store\/sqlite\// },
	{ package: /^better-sqlite3/, only: /^packages\/server\/src\/store\/sqlite\/|^test\/|^scripts\// },
	{ package: /^pg$/, only: /^packages\/server\/src\/store\/postgres\// },
	{ package: /^(hono|@hono\/)/, only: /^packages\/server\/src\/http\// },
	{
		package: /^jose/,
		only: /^packages\/server\/src\/(crypto\/(session(\.test)?|wycheproof\.test)|trusts\/verify)\.ts$|^test\//,
	},
	{ package: /^@node-rs\/argon2/, only: /^packages\/server\/src\/crypto\/(argon2-thread|password\.test)\.ts$/ },
	{ package: /^(pkijs|asn1js)/, only: /^packages\/x509\// },
	{ package: /^redis$/, only: /^packages\/server\/src\/engines\/kinds\/keyvalue\/|^test\/|^scripts\// },
	{ package: /^mongodb$/, only: /^packages\/server\/src\/engines\/kinds\/documentdb\/|^test\// },
	{ package: /^execa$/, only: /^packages\/server\/src\/engines\/host\// },
	{ package: /^(samlify|@xmldom\/|xpath|xml-crypto)/, only: /^packages\/server\/src\/sso\/saml\/|^test\// },
	{ package: /^openid-client$/, only: /^packages\/server\/src\/sso\/oidc\// },
	{ package: /^ldapjs$/, only: /^packages\/server\/src\/sso\/ldap\/(directory|filter)\.ts$/ },
	{ package: /^oidc-provider$/, only: /^test\// },
	{ package: /^@simplewebauthn\//, only: /^packages\/server\/src\/factors\/webauthn\.ts$/ },
	{ package: /^otpauth$/, only: /^packages\/server\/src\/(factors|testing)\/totp\.ts$|^plugins\/totp\// },
	{ package: /^qrcode$/, only: /^packages\/server\/src\/console\/qr-code\.ts$|^plugins\/totp\// },
	{ package: /^@svc\/plugin-/, only: /^(packages\/svc|packages\/plugin-sdk|plugins)\/|^test\// },
	{ package: /^@svc\/server/, only: /^packages\/svc\// },
	{ package: /^@svc\/x509/, only: /^(packages\/server|plugins\/pki)\// },
];

test("every import inside the server and the client follows the arrows", () => {
	const wrong: string[] = [];
	for (const [base, arrows] of Object.entries(ARROWS)) {
		for (const file of files.filter((name) => name.startsWith(`${base}/`) && !isTest(name))) {
			const from = relative(base, file);
			const arrow = arrows.find((candidate) => candidate.from.test(from));
			for (const specifier of importsOf(file).filter((name) => name.startsWith("."))) {
				const to = relative(base, join(dirname(file), specifier));
				if (!LEAVES.includes(to) && !arrow?.may.test(to)) wrong.push(`${from} → ${to}`);
			}
		}
	}
	assert.deepEqual(wrong, []);
});

test("no source of the server imports what only tests use", () => {
	const wrong = files
		.filter((file) => file.startsWith("packages/server/src/") && !isTest(file))
		.flatMap((file) => importsOf(file).map((name) => `${file} → ${name}`))
		.filter((line) => /\/testing(\/|\.ts$)/.test(line));
	assert.deepEqual(wrong, []);
});

test("a package is imported only where it belongs", () => {
	const wrong = files.flatMap((file) =>
		importsOf(file)
			.filter((name) => RESERVED.some((rule) => rule.package.test(name) && !rule.only.test(file)))
			.map((name) => `${file} → ${name}`),
	);
	assert.deepEqual(wrong, []);
});

test("the command line client imports nothing of the server", () => {
	const wrong = files.filter(
		(file) =>
			file.startsWith("packages/cli/") &&
			importsOf(file).some((name) => /^@svc\/|^svc$|\.\.\/(server|svc|x509)\//.test(name)),
	);
	assert.deepEqual(wrong, []);
});

test("engines/ and its tests name no kind of engine, except in the kind's own folder", () => {
	const engines = "packages/server/src/engines/";
	const kinds = readdirSync(join(root, engines, "kinds"), { withFileTypes: true })
		.filter((entry) => entry.isDirectory() && entry.name !== "third-party")
		.map(({ name }) => name);
	assert.deepEqual(new Set(kinds), new Set(Object.keys(KINDS)), "each folder is in the registry");
	const words = [
		...[...kinds, "kv_command", "doc_command", "SVC_ORCH", "SVC_PKI"],
		...["redis", "mongo(db)?", "kube(config|rnetes|-system)?", "service.?account"],
	];
	const named = new RegExp(words.map((word) => `(?<![a-z])${word}(?![a-z])`).join("|"), "i");
	const wrong = files
		.filter((file) => file.startsWith(engines) && !file.startsWith(`${engines}kinds/`))
		.filter((file) => named.test(read(file)));
	assert.deepEqual(wrong, []);
});

test("no file is longer than 300 lines", () => {
	assert.deepEqual(
		files.filter((file) => read(file).split("\n").length > 301),
		[],
	);
});

test("clock, randomness and environment are read in one place each", () => {
	const rules: [name: string, pattern: RegExp, only: RegExp][] = [
		["the wall clock", /\bDate\.now\(|new Date\(\)/, /src\/system\.ts$/],
		["randomness", /\bMath\.random\(|\brandomUUID(v7)?\(|[^.\w]randomBytes\(\d/, /src\/system\.ts$/],
		["the environment", /\bprocess\.env\b/, /packages\/svc\/src\/(server|addon)\.ts$/],
		["the console", /\bconsole\.(?:log|error|warn|info|debug|trace|table|dir)\b/, /^$/],
		["what takes a check out of openid-client", /\bskip(?:State|Subject)Check\b|\ballowInsecureRequests\b/, /^$/],
	];
	const wrong = rules.flatMap(([name, pattern, only]) =>
		files
			.filter((file) => /^packages\/(server|svc|x509)\//.test(file) && !isTest(file))
			.filter((file) => pattern.test(read(file)) && !only.test(file))
			.map((file) => `${file}: ${name}`),
	);
	assert.deepEqual(wrong, []);
});

test("only the layout and a form that comes back admit text as markup, and only one page shows a value", () => {
	const pages = files.filter((file) => file.startsWith("packages/server/src/console/") && !isTest(file));
	const named = (pattern: RegExp) =>
		pages.filter((file) => pattern.test(read(file))).map((file) => file.split("/").at(-1));
	assert.deepEqual(named(/\bconstant\(/), ["html.ts", "layout.ts", "refused-form.ts"]);
	assert.deepEqual(named(/\b(?:getSecret|syncSecrets|withValues: true)\b/), ["secret.ts"]);
});

test("no file names a machine's folder or a registry's host", () => {
	const wrong = files.filter((file) => /\/(?:home|root)\/[a-z]|registry\.npmjs/.test(read(file)));
	assert.deepEqual(wrong, []);
});
