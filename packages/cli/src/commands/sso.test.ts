import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { refusal, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

const SHOWN = {
	name: "corp",
	type: "oidc",
	display_name: "Corp\u001b",
	config: { issuer: "https://id.example.com", client_secret: "********", allowed_domains: ["example.com"] },
};
const PEM = "-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n";

test("the list of providers needs no login", async () => {
	await using server = await startService(() => ({ body: { providers: [{ ...SHOWN, config: undefined }] } }));
	const env = { SVC_ADDRESS: server.address };
	assert.equal((await run(["sso", "list"], { env })).stdout, "NAME  TYPE  DISPLAY NAME\ncorp  oidc  Corp\\u001b\n");
	assert.equal(server.requests[0]?.headers.authorization, undefined);
	await using empty = await startService(() => ({ body: { providers: [] } }));
	const { stdout, stderr } = await run(["sso", "list"], { env: empty.env });
	assert.equal(stdout, "");
	assert.match(stderr, /`svc sso set`/);
});

test("a provider is set from flags, files and a secret that is never shown", async () => {
	await using server = await startService(() => ({ body: SHOWN }));
	await using folder = await temporaryFolder();
	const file = join(folder.path, "ca.pem");
	await writeFile(file, PEM);
	const words =
		"sso set corp --type oidc --display-name Corp --set issuer=https://id.example.com --set auto_provision=false --secret client_secret";
	const argv = [...words.split(" "), "--set", 'allowed_domains=["example.com"]', "--set-file", `ca_cert=${file}`];
	const { code, stdout, stderr } = await run(argv, { env: server.env, stdin: "hunter2\n" });
	assert.equal(code, 0, stderr);
	assert.equal(
		stdout,
		'name             corp\ntype             oidc\ndisplay_name     Corp\\u001b\nissuer           https://id.example.com\nclient_secret    ********\nallowed_domains  ["example.com"]\n',
	);
	assert.doesNotMatch(stdout + stderr, /hunter2/);
	const [sent] = server.requests;
	assert.deepEqual([sent?.method, sent?.url], ["PUT", "/api/v1/auth/providers/corp?if=healthy"]);
	const config = {
		issuer: "https://id.example.com",
		auto_provision: false,
		allowed_domains: ["example.com"],
		ca_cert: PEM,
		client_secret: "hunter2",
	};
	assert.deepEqual(sent?.body, { type: "oidc", display_name: "Corp", config });
});

test("a person sees the beginning of a long setting, a program all of it", async () => {
	const idp_metadata = `<EntityDescriptor>${"\u{1f5dd}".repeat(400)}</EntityDescriptor>\n`;
	await using server = await startService(() => ({ body: { ...SHOWN, config: { idp_metadata } } }));
	const { stdout } = await run(["sso", "show", "corp"], { env: server.env });
	assert.match(stdout, /^idp_metadata {2}<EntityDescriptor>.{40,60}… \(838 characters\b.*--json\b.*\)$/mu);
	const { stdout: json } = await run(["sso", "show", "corp", "--json"], { env: server.env });
	assert.equal(JSON.parse(json).config.idp_metadata, idp_metadata);
});

test("what show printed can be changed and set again, and so can the settings alone", async () => {
	await using server = await startService(() => ({ body: SHOWN }));
	const { env } = server;
	const { stdout } = await run(["sso", "show", "corp", "--json"], { env });
	assert.deepEqual(JSON.parse(stdout), SHOWN);
	const set = (from: string, ...more: string[]) =>
		run(["sso", "set", "corp", "--from", "-", "--set", "groups_claim=groups", ...more], { env, stdin: from });
	await set(stdout);
	await set(stdout, "--display-name", "Other");
	await set(JSON.stringify(SHOWN.config), "--type", "oidc");
	const { type, display_name } = SHOWN;
	const config = { ...SHOWN.config, groups_claim: "groups" };
	assert.deepEqual(
		server.requests.slice(1).map(({ body }) => body),
		[
			{ type, display_name, config },
			{ type, display_name: "Other", config },
			{ type, config },
		],
	);
});

const WRONG: readonly (readonly [words: string, code: number, message: RegExp])[] = [
	["corp --set issuer=hunter2", 2, /\btype\b.*\nhint: --type oidc/],
	["corp --type oidc --set hunter2", 2, /name=value/],
	["corp --type oidc --set-file hunter2", 2, /name=value/],
	["corp --type oidc --set-file ca_cert=FOLDER/none", 1, /none: no such file/],
	["corp --type oidc --set-file ca_cert=FOLDER/none --set ca_cert=hunter2", 2, /\btwice\b/],
	["corp --type oidc --set-file a=FOLDER/none --secret a", 2, /\btwice\b/],
	["corp --type oidc --from - --secret a", 2, /\bboth\b/],
	["corp --type oidc --from -", 2, /\bJSON object\b/],
];

for (const [words, code, message] of WRONG) {
	test(`svc sso set ${words} ends with ${code}, and nothing is sent`, async () => {
		await using server = await startService(() => ({ body: SHOWN }));
		await using folder = await temporaryFolder();
		const argv = ["sso", "set", ...words.replace("FOLDER", folder.path).split(" ")];
		const outcome = await run(argv, { env: server.env, stdin: "hunter2" });
		assert.equal(outcome.code, code, outcome.stderr);
		assert.match(outcome.stderr, message);
		assert.doesNotMatch(outcome.stderr, /hunter2/);
		assert.deepEqual(server.requests, []);
	});
}

test("a provider that does not work ends its test with 1 and the reason", async () => {
	const sick = { status: "unhealthy", message: "it does not answer\u001b" };
	await using server = await startService(() => ({ body: sick }));
	const { code, stdout, stderr } = await run(["sso", "test", "corp"], { env: server.env });
	assert.deepEqual([code, stdout], [1, "unhealthy\n"]);
	assert.match(stderr, /^svc: it does not answer\\u001b\nhint: `svc sso show` /);
	const json = await run(["sso", "test", "corp", "--json"], { env: server.env });
	assert.deepEqual([json.code, JSON.parse(json.stdout)], [1, sick]);
	assert.equal(JSON.parse(json.stderr).error.code, "unhealthy");
});

test("an unknown provider's error says where the names are", async () => {
	await using server = await startService(() => refusal(404, "not_found", "provider not found"));
	for (const command of ["show corp", "remove corp --yes", "test corp"]) {
		const { code, stderr } = await run(["sso", ...command.split(" ")], { env: server.env });
		assert.equal(code, 4);
		assert.match(stderr, /^svc: provider corp .*\nhint: `svc sso list` .*\n$/);
	}
});
