import assert from "node:assert/strict";
import { chmod, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { page, refusal } from "../../testing/fake-server.ts";
import { jwtOf, startMachineService } from "../../testing/machine.ts";
import { fakeIo, run, temporaryFolder } from "../../testing/terminal.ts";
import { connect } from "../connection.ts";
import { readSession, sessionFile } from "../session.ts";

const REALMS = ["realm", "list"];
const TOKENS = (count: number) => Array.from({ length: count }, (_, index) => `svc_machine${index + 1}_deploy`);

test("a command gets its token for a JWT from a file, GitHub or GitLab, and the next one uses it again", async () => {
	await using folder = await temporaryFolder();
	const file = join(folder.path, "jwt");
	await writeFile(file, `${jwtOf({ of: "file" })}\n`);
	for (const source of ["file", "github", "gitlab"]) {
		await using server = await startMachineService();
		await using home = await temporaryFolder();
		const given = {
			file: { SVC_JWT_FILE: file },
			github: server.github,
			gitlab: { GITLAB_CI: "true", SVC_ID_TOKEN: jwtOf({ of: "gitlab" }) },
		}[source];
		const env = { HOME: home.path, ...server.env, ...given };
		for (let times = 0; times < 2; times++) {
			const { code, stderr } = await run(REALMS, { env });
			assert.equal(code, 0, stderr);
			assert.equal(stderr.includes("::add-mask::svc_machine1_deploy\n"), source === "github" && times === 0);
		}
		assert.deepEqual(server.used(), ["svc_machine1_deploy", "svc_machine1_deploy"]);
		const [body, ...others] = server.sent() as { jwt: string }[];
		const of = { file: { of: "file" }, gitlab: { of: "gitlab" }, github: { aud: server.address, n: 1 } }[source];
		assert.deepEqual(body, { realm: "shop", machine: "deploy", jwt: jwtOf(of ?? {}) });
		assert.deepEqual(others, []);
		assert.equal((await stat(sessionFile(fakeIo({ env }).io))).mode & 0o777, 0o600);
	}
});

test("SVC_AUDIENCE is asked for in place of the server's origin, in addition to what the address asks already", async () => {
	await using server = await startMachineService();
	const env = { ...server.env, ...server.github, SVC_AUDIENCE: "https://a.example/?b&c" };
	assert.equal((await run(REALMS, { env })).code, 0);
	const { url = "", headers } = server.requests[0] ?? {};
	assert.deepEqual(
		[...new URL(url, server.address).searchParams],
		[
			["api", "1"],
			["audience", "https://a.example/?b&c"],
		],
	);
	assert.equal(headers?.authorization, "Bearer job-token");
});

test("a kept token is for somebody who has the same proof, and not for its last minute", async () => {
	await using server = await startMachineService();
	await using home = await temporaryFolder();
	const env = { HOME: home.path, ...server.env };
	const first = jwtOf({ job: 1 });
	await run(REALMS, { env: { ...env, SVC_ID_TOKEN: first } });
	await run(REALMS, { env: { ...env, SVC_ID_TOKEN: jwtOf({ job: 2 }) } });
	const none = await run(REALMS, { env });
	assert.equal(none.code, 3);
	assert.match(none.stderr, /^svc: .* shop\/deploy\nhint: SVC_JWT_FILE /);
	assert.deepEqual(server.used(), TOKENS(2));

	await using short = await startMachineService({ life_s: 60 });
	for (let times = 0; times < 2; times++)
		await run(REALMS, { env: { HOME: home.path, ...short.env, SVC_ID_TOKEN: first } });
	assert.deepEqual(short.used(), TOKENS(2));
});

test("without a folder for the session, each command gets a token of its own", async () => {
	await using server = await startMachineService();
	const env = { ...server.env, SVC_ID_TOKEN: jwtOf({}) };
	for (let times = 0; times < 2; times++) assert.equal((await run(REALMS, { env })).code, 0);
	assert.deepEqual(server.used(), TOKENS(2));
});

test("a token that the server refuses is replaced once, for a write as well, and all who need it wait for one exchange", async () => {
	await using server = await startMachineService({ serve: () => page("realms", []) });
	await using home = await temporaryFolder();
	const env = { HOME: home.path, ...server.env, SVC_ID_TOKEN: jwtOf({}) };
	assert.equal((await run(REALMS, { env })).code, 0);
	server.revokeAll();
	assert.equal((await run(["realm", "create", "shop"], { env })).code, 5, "the fake answers no realm, but it answers");
	assert.deepEqual(server.used(), ["svc_machine1_deploy", ...TOKENS(2)]);
	const { io } = fakeIo({ env });
	await Promise.all(Array.from({ length: 20 }, () => connect({ io, options: {} })));
	assert.equal(server.sent().length, 2);
});

test("a token that is refused again stays refused: nothing is tried a third time", async () => {
	await using server = await startMachineService({ serve: () => refusal(401, "unauthorized", "invalid token") });
	const { code, stderr } = await run(REALMS, { env: { ...server.env, SVC_ID_TOKEN: jwtOf({}) } });
	assert.equal(code, 3);
	assert.match(stderr, /^svc: invalid token\nhint: /);
	assert.deepEqual(server.used(), TOKENS(2));
});

test("a token that is given comes before the machine, and the machine before the session", async () => {
	await using server = await startMachineService();
	await using home = await temporaryFolder();
	const env = { HOME: home.path, ...server.env, SVC_ID_TOKEN: jwtOf({}) };
	await run(REALMS, { env: { ...env, SVC_TOKEN: "svc_given" } });
	await run(REALMS, { env });
	assert.deepEqual(server.used(), ["svc_given", "svc_machine1_deploy"]);
});

test("a refused machine learns the reason, as far as its JWT shows it", async () => {
	await using server = await startMachineService({
		refuse: () => refusal(401, "invalid_credentials", "the JWT was refused"),
	});
	const soon = Date.now() / 1000 + 600;
	const garbage = await run(REALMS, { env: { ...server.env, SVC_ID_TOKEN: "hunter2.hunter2.hunter2" } });
	assert.match(garbage.stderr, /\bno JWT\b/);
	assert.doesNotMatch(garbage.stderr, /hunter2/);
	for (const [claims, hint] of [
		[{ aud: server.address, exp: soon }, /\bissuer, audience and claims\b/],
		[{ aud: server.address, exp: 1000 }, /\bended\b.*\bsubPath\b/],
		[{ aud: "hunter2", exp: soon }, new RegExp(`\\baudience ${server.address}: `)],
		[{ aud: ["hunter2", server.address], exp: soon }, /\bone audience\b/],
	] as const) {
		const { code, stderr } = await run(REALMS, { env: { ...server.env, SVC_ID_TOKEN: jwtOf(claims) } });
		assert.equal(code, 3);
		assert.match(stderr, /^svc: .* shop\/deploy\b/);
		assert.match(stderr, hint);
		assert.doesNotMatch(stderr, /hunter2/);
	}
});

test("a JWT that is refused for no reason of its own is sent once more, because the server may not know its issuer's new keys yet", async () => {
	const refuse = () => refusal(401, "invalid_credentials", "the JWT was refused");
	const exp = Date.now() / 1000 + 600;
	await using fresh = await startMachineService({ refuse: (count) => (count === 1 ? refuse() : undefined) });
	const env = { ...fresh.env, SVC_ID_TOKEN: jwtOf({ aud: fresh.address, exp }) };
	assert.equal((await run(REALMS, { env })).code, 0);
	assert.equal(fresh.sent().length, 2);
	await using strict = await startMachineService({ refuse });
	for (const [claims, count] of [
		[{ aud: strict.address, exp }, 2],
		[{ aud: strict.address, exp: 1000 }, 3],
	] as const) {
		await run(REALMS, { env: { ...strict.env, SVC_ID_TOKEN: jwtOf(claims) } });
		assert.equal(strict.sent().length, count);
	}
});

test("a server that does not know the exchange differs from one that refuses", async () => {
	await using server = await startMachineService({ refuse: () => refusal(404, "not_found", "no such endpoint") });
	const { code, stderr } = await run(REALMS, { env: { ...server.env, SVC_ID_TOKEN: jwtOf({}) } });
	assert.equal(code, 4);
	assert.match(stderr, /^svc: .* http:\S+ .*\nhint: .*\bversion\b/);
});

const NONE: readonly (readonly [env: Record<string, string>, message: RegExp])[] = [
	[{ GITHUB_ACTIONS: "true" }, /\nhint: .*`permissions: id-token: write`/],
	[{ GITLAB_CI: "true" }, /\bSVC_ID_TOKEN\b.*\nhint: .*`id_tokens: SVC_ID_TOKEN: aud: http:\/\/127/],
	[{ KUBERNETES_SERVICE_HOST: "10.0.0.1" }, / \/var\/run\/secrets\/svc\/token\nhint: \S/],
	[{ SVC_JWT_FILE: "/nowhere/jwt" }, /^svc: .*\bSVC_JWT_FILE\b.*\(ENOENT\)/],
	[{ SVC_ID_TOKEN: "hunter2" }, /^svc: SVC_ID_TOKEN .*\bno JWT\n/],
	[{ SVC_MACHINE: "deploy" }, /^svc: SVC_MACHINE .* shop\/deploy\n/],
	[{ SVC_JWT_FILE: "/var/run/secrets/kubernetes.io/serviceaccount/token" }, /^svc: SVC_JWT_FILE .*\bcluster\b/],
];

for (const [env, message] of NONE) {
	test(`without a JWT, ${JSON.stringify(env)} leads to a message that says what is missing`, async () => {
		await using server = await startMachineService();
		const { code, stderr } = await run(REALMS, { env: { ...server.env, ...env } });
		assert.notEqual(code, 0);
		assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2/);
		assert.deepEqual(server.requests, []);
	});
}

test("a file that others can write gives no token and no JWT", async () => {
	await using server = await startMachineService();
	await using folder = await temporaryFolder();
	const file = join(folder.path, "jwt");
	await writeFile(file, jwtOf({}));
	for (const mode of [0o620, 0o602]) {
		await chmod(file, mode);
		for (const name of ["SVC_JWT_FILE", "SVC_TOKEN_FILE"]) {
			const { code, stderr } = await run(REALMS, { env: { ...server.env, [name]: file } });
			assert.equal(code, 2);
			assert.match(stderr, new RegExp(`^svc: other users can write the file of ${name}, .*\nhint: chmod go-w `));
		}
	}
	assert.deepEqual(server.requests, []);
});

test("GitHub is asked again when it is in trouble, and not when it refuses or redirects", async () => {
	const trouble = { status: 503 };
	for (const [answers, asked, message] of [
		[[trouble, trouble], 3, undefined],
		[[trouble, trouble, trouble], 3, /^svc: GitHub .* 3 times\n/],
		[[{ status: 403 }], 1, /^svc: GitHub .*\b403\b.*\nhint: .*`permissions: id-token: write`/],
		[[{ status: 302, headers: { location: "http://127.0.0.1:1/" } }], 1, /^svc: GitHub.*\bredirects\b/],
		[[{ body: "hunter2" }], 1, /^svc: GitHub.*\bholds no JWT\b/],
		[[{ body: { value: "hunter2" } }], 1, /^svc: .*\bGitHub is no JWT\b/],
	] as const) {
		await using server = await startMachineService({ github: (count) => answers[count - 1] });
		const { code, stderr } = await run(REALMS, { env: { ...server.env, ...server.github } });
		assert.equal(code === 0, message === undefined, stderr);
		if (message !== undefined) assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2|job-token/);
		assert.equal(server.requests.filter(({ url }) => url.startsWith("/jwt")).length, asked);
	}
});

test("svc login --machine says what it did, later commands work as the machine, and logout forgets it", async () => {
	await using server = await startMachineService();
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const login = await run(["login", "--machine", "shop/deploy"], { env: { ...env, SVC_ID_TOKEN: jwtOf({}) } });
	assert.equal(login.code, 0, login.stderr);
	assert.match(login.stdout, / http:\S+ .* machine shop\/deploy\b.*\bSVC_ID_TOKEN\b.* 20\S+Z\n$/);
	assert.equal((await run(REALMS, { env })).code, 0, "without the JWT, for as long as the token is valid");
	assert.deepEqual(server.used(), TOKENS(1));
	const json = await run(["login", "--machine", "shop/deploy", "--json"], { env: { ...env, SVC_ID_TOKEN: jwtOf({}) } });
	assert.deepEqual(Object.keys(JSON.parse(json.stdout)), ["address", "machine", "source", "audience", "expires_at"]);
	assert.match((await run(["logout"], { env })).stdout, / machine shop\/deploy\b/);
	assert.deepEqual((await readSession(fakeIo({ env }).io)).servers[server.address], {});
	assert.equal((await run(REALMS, { env })).code, 3);
	assert.equal((await run(["login", "ada@example.com", "--machine", "shop/deploy"], { env })).code, 2);
});
