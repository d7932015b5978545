import assert from "node:assert/strict";
import test from "node:test";
import { refusal, startService } from "../testing/fake-server.ts";
import { startProviders } from "../testing/provider.ts";
import { run } from "../testing/terminal.ts";

const session = ({ address }: { address: string }) => ({ SVC_ADDRESS: address, SVC_TOKEN: "session" });
const LINKED = {
	body: { message: "identity linked", identity: { provider: "old", email: "ada@example.com", name: "Ada\u001b" } },
};

test("a logged-in person links an identity with a browser, after seeing whose it is", async () => {
	await using server = await startProviders(LINKED);
	const env = session(server);
	const link = ["account", "link", "old", "--no-browser"];
	const asked = await run(link, { env, heard: server.heard, typed: ["y\n"] });
	assert.equal(asked.code, 0, asked.stderr);
	assert.match(asked.stderr, /\bAda\\u001b, ada@example\.com\b/);
	assert.equal((await run([...link, "--yes"], { env, heard: server.heard })).code, 0);
	const sent = server.requests.filter(({ method }) => method === "POST");
	assert.deepEqual(
		sent.map(({ url, headers }) => [url, headers.authorization]),
		sent.map(() => ["/api/v1/auth/sso/link", "Bearer session"]),
	);
	const confirmed = sent.map(({ body }) => (body as { confirm?: boolean }).confirm);
	assert.deepEqual(confirmed, [undefined, true, undefined, true]);
});

test("an identity that nobody has looked at is not linked", async () => {
	await using server = await startProviders(LINKED);
	const env = session(server);
	const link = ["account", "link", "old", "--no-browser"];
	assert.equal((await run(link, { env, heard: server.heard, typed: ["n\n"] })).code, 1);
	const { code, stderr } = await run(link, { env, heard: server.heard });
	assert.deepEqual([code, /--yes\b/.test(stderr)], [2, true], stderr);
	const bodies = server.requests.filter(({ method }) => method === "POST").map(({ body }) => body as object);
	assert.deepEqual([bodies.length, bodies.some((body) => "confirm" in body)], [2, false]);
});

test("an identity of a directory is linked with its password", async () => {
	await using server = await startProviders(LINKED);
	const env = session(server);
	const link = ["account", "link", "directory"];
	assert.equal((await run([...link, "ada", "--password-stdin"], { env, stdin: "a password\n" })).code, 0);
	assert.equal((await run([...link, "--json"], { env, typed: ["ada\n", "a password\r"] })).code, 0);
	const sent = server.requests.filter(({ method }) => method === "POST");
	assert.deepEqual(
		sent.map(({ url, body, headers }) => [url, body, headers.authorization]),
		[1, 2].map(() => [
			"/api/v1/auth/ldap/directory/link",
			{ username: "ada", password: "a password" },
			"Bearer session",
		]),
	);
});

test("the password of the account is asked for, too, where it has one, and given after a directory's", async () => {
	await using server = await startProviders(LINKED, true);
	const env = session(server);
	const link = ["account", "link"];
	const both = { env, stdin: "theirs\nmine\n", heard: server.heard };
	assert.equal((await run([...link, "directory", "ada", "--password-stdin"], both)).code, 0);
	const one = { env, stdin: "mine\n", heard: server.heard };
	assert.equal((await run([...link, "directory", "ada", "--password-stdin"], one)).code, 2);
	assert.equal((await run([...link, "old", "--no-browser", "--yes", "--password-stdin"], one)).code, 0);
	const typed = await run([...link, "directory", "ada"], { env, typed: ["theirs\r", "mine\r"] });
	assert.match(typed.stderr, /Password: .*Password of your account: /s);
	const bodies = server.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
	assert.partialDeepStrictEqual(bodies, [
		{ username: "ada", password: "theirs", current_password: "mine" },
		{},
		{ confirm: true, current_password: "mine" },
		{ username: "ada", password: "theirs", current_password: "mine" },
	]);
});

test("where the account has a second factor, a link takes a code, typed after the sign-in in the browser", async () => {
	const factor = { id: "f1", type: "totp", created_at: "2030-01-01T00:00:00Z", confirmed_at: "2030-01-01T00:00:01Z" };
	await using server = await startProviders(LINKED, true, [factor]);
	const env = session(server);
	const link = ["account", "link"];
	const three = { env, stdin: "theirs\nmine\n123456\n" };
	assert.equal((await run([...link, "directory", "ada", "--password-stdin"], three)).code, 0);
	assert.equal((await run([...link, "directory", "ada", "--password-stdin"], { ...three, stdin: "a\nb\n" })).code, 2);
	const browser = [...link, "old", "--no-browser", "--yes"];
	const heard = server.heard;
	assert.equal((await run([...browser, "--password-stdin"], { env, stdin: "mine\n123456\n", heard })).code, 0);
	const typed = await run(browser, { env, typed: ["mine\r", "123456\r"], heard });
	assert.match(typed.stderr, /\bPassword\b.*http.*\bauthenticator app/s);
	const bodies = server.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
	const proven = { confirm: true, current_password: "mine", factor_code: "123456" };
	assert.partialDeepStrictEqual(bodies, [
		{ username: "ada", password: "theirs", current_password: "mine", code: "123456" },
		...[{}, proven],
		...[{}, proven],
	]);
});

test("linked identities are listed, and unlinked with the password of the account", async () => {
	const identity = {
		id: "i1",
		provider: "corp",
		issuer: "o",
		subject: "ada\u001b",
		made_account: false,
		created_at: "t",
	};
	let has_password = true;
	let factors: object[] = [];
	await using server = await startService(({ method }) =>
		method === "GET"
			? { body: { identities: [identity], has_password, factors } }
			: { body: { message: "identity unlinked" } },
	);
	const env = session(server);
	const { stdout } = await run(["account", "identities"], { env });
	assert.equal(stdout, "ID  PROVIDER  WHO        LINKED\ni1  corp      ada\\u001b  t\n");
	const unlink = ["account", "unlink", "i1"];
	assert.equal((await run(unlink, { env, typed: ["mine\r"] })).code, 0);
	assert.equal((await run([...unlink, "--password-stdin"], { env, stdin: "mine\n" })).code, 0);
	assert.equal((await run(unlink, { env })).code, 2);
	factors = [{ confirmed_at: "2030-01-01T00:00:00Z" }];
	assert.equal((await run([...unlink, "--password-stdin"], { env, stdin: "mine\n123456\n" })).code, 0);
	has_password = false;
	assert.equal((await run(unlink, { env })).code, 0);
	const sent = server.requests.filter(({ method }) => method === "DELETE");
	assert.deepEqual(
		sent.map(({ url, body }) => [url, body]),
		[{ current_password: "mine" }, { current_password: "mine" }, { current_password: "mine", code: "123456" }, {}].map(
			(body) => ["/api/v1/auth/identities/i1", body],
		),
	);
	assert.match((await run(["account", "identities"], { env: server.env })).stderr, /^svc: .*\bAPI token\b/);
});

test("linking needs somebody who is logged in, and no name where a browser is asked", async () => {
	await using server = await startProviders(refusal(401, "invalid_credentials", "invalid username or password"));
	const env = session(server);
	const link = async (env: Record<string, string>, ...words: string[]) => {
		const { code, stderr } = await run(["account", "link", ...words], { env, stdin: "hunter2\n", heard: server.heard });
		return `${code} ${stderr}`;
	};
	assert.match(await link({ SVC_ADDRESS: server.address }, "corp"), /^3 svc: \S/);
	assert.match(await link(server.env, "corp"), /^1 svc: .*\bAPI token\b/);
	assert.deepEqual(server.requests, []);
	assert.match(await link(env, "corp", "ada"), /^2 svc: .*\bno user name\b/);
	assert.match(await link(env, "nobody"), /^4 svc: provider nobody\b/);
	const wrong = await link(env, "directory", "ada", "--password-stdin");
	assert.match(wrong, /^3 svc: [^\n]+\n$/, "the session is not to blame");
	await using other = await startProviders(refusal(401, "unauthorized", "the login was refused: try again"));
	const { stderr } = await run(["account", "link", "corp"], { env: session(other), heard: other.heard });
	assert.match(stderr, /\nsvc: [^\n]+\n$/, "nor is it here");
});
