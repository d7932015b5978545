import assert from "node:assert/strict";
import test from "node:test";
import { page, refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const ADA = {
	...{ id: "u1", email: "ada@example.com", name: "Ada\u001b", created_at: "t" },
	...{ instance_admin: false, disabled: true, sessions: 2, tokens: 1 },
	...{ realms: 3, limits: { realm_bytes: 2 ** 20, realms: null } },
	identities: [{ provider: "corp", subject: "ada" }],
};

const REVOKED = {
	...{ sessions: 2, tokens: 1, leases: 3, identities: 4 },
	...{ machines: 5, machine_tokens: 6, trusts: 8, invitations: 7 },
};
const MADE = {
	machines: [{ realm: "shop", name: "deploy" }],
	machine_tokens: [{ machine: "shop/deploy", prefix: "svc_aaaa" }],
	trusts: [{ machine: "shop/deploy", name: "github" }],
	invitations: [{ email: "bob@example.com" }],
	identities: [{ provider: "corp", subject: "s-1" }],
};

const start = (user: object = ADA, made: object = MADE) =>
	startService(({ method, url, body }) => {
		if (method === "PUT") return { body };
		if (method === "POST")
			return {
				body: url.endsWith("/revoke") ? REVOKED : { message: "m" },
			};
		if (url.startsWith("/api/v1/users?")) return page("users", [user, { ...ADA, id: "u2", instance_admin: true }]);
		if (url === "/api/v1/users/u1/made") return { body: made };
		return url === "/api/v1/users/ada%40example.com" ? { body: user } : refusal(404, "not_found", "user not found");
	});
const posted = ({ requests }: Awaited<ReturnType<typeof start>>) =>
	requests.filter(({ method }) => method === "POST").map(({ url, body }) => [url, body]);

test("accounts are listed and shown, by e-mail too, with nothing that a terminal would obey", async () => {
	await using server = await start();
	const list = await run(["users", "list"], { env: server.env });
	assert.match(list.stdout, /^u1 .*Ada\\u001b .*disabled$/m);
	assert.match(list.stdout, /^u2 .*administrator, disabled$/m);
	const { stdout } = await run(["users", "show", "ada@example.com"], { env: server.env });
	assert.match(
		stdout,
		/^id +u1\n.*\n.*\ncreated +t\nstanding +disabled\nsessions +2\ntokens +1\nsigns in at +corp \(ada\)\nrealms +3\nlimit of realm bytes +1048576\nlimit of realms +default\n$/s,
	);
	assert.equal((await run(["users", "show", "bob"], { env: server.env })).code, 4);
});

test("an account is disabled once that was confirmed, and enabled by its e-mail", async () => {
	await using server = await start();
	const disable = ["users", "disable", "ada@example.com"];
	assert.equal((await run(disable, { env: server.env, typed: ["n\n"] })).code, 1);
	assert.equal((await run(disable, { env: server.env })).code, 2);
	assert.deepEqual(posted(server), []);
	const { stdout, stderr } = await run(disable, { env: server.env, typed: ["y\n"] });
	assert.match(stdout, /^ada@example\.com .*\bdisabled\n$/);
	assert.match(stderr, /svc revoke --user ada@example\.com/);
	assert.equal((await run([...disable, "--yes"], { env: server.env })).code, 0);
	const enabled = await run(["users", "enable", "ada@example.com"], { env: server.env });
	assert.match(enabled.stdout, /^ada@example\.com .*\benabled\n$/);
	const urls = ["disable", "disable", "enable"].map((verb) => [`/api/v1/users/u1/${verb}`, undefined]);
	assert.deepEqual(posted(server), urls);
});

test("a user becomes an instance admin, and stops being one, after a confirmation", async () => {
	await using server = await start();
	const admin = ["users", "admin", "ada@example.com"];
	assert.equal((await run(admin, { env: server.env, typed: ["n\n"] })).code, 1);
	const made = await run(admin, { env: server.env, typed: ["y\n"] });
	assert.match(made.stdout, /^ada@example\.com .*\ban instance admin\n$/);
	const ended = await run([...admin, "--remove", "--yes"], { env: server.env });
	assert.match(ended.stdout, /^ada@example\.com /);
	const put = server.requests.filter(({ method }) => method === "PUT").map(({ url, body }) => [url, body]);
	assert.deepEqual(put, [
		["/api/v1/users/u1", { instance_admin: true }],
		["/api/v1/users/u1", { instance_admin: false }],
	]);
});

test("how much somebody may keep is shown, and changed by what is named", async () => {
	await using server = await start();
	const limits = async (...options: string[]) =>
		await run(["users", "limits", "ada@example.com", ...options], { env: server.env });
	assert.match((await limits()).stdout, / 1048576\n.* default\n$/);
	const put = () => server.requests.filter(({ method }) => method === "PUT").map(({ url, body }) => [url, body]);
	assert.deepEqual(put(), []);
	assert.match((await limits("--realms", "500")).stdout, / 1048576\n.* 500\n$/);
	await limits("--realm-bytes", "256MiB");
	await limits("--realm-bytes", "default", "--realms", "0");
	const url = "/api/v1/users/u1/limits";
	assert.deepEqual(put(), [
		[url, { realm_bytes: 2 ** 20, realms: 500 }],
		[url, { realm_bytes: 2 ** 28, realms: null }],
		[url, { realm_bytes: null, realms: 0 }],
	]);
	for (const wrong of [
		["--realm-bytes", "1.5GiB"],
		["--realm-bytes", "64MB"],
		["--realms", "-1"],
		["--realms", "many"],
	])
		assert.equal((await limits(...wrong)).code, 2, wrong.join(" "));
	assert.equal(put().length, 3);
});

test("everything that somebody holds is revoked after a confirmation, and each kind is counted", async () => {
	await using server = await start({ ...ADA, disabled: false });
	const revoke = ["revoke", "--user", "ada@example.com"];
	assert.equal((await run(revoke, { env: server.env, typed: ["n\n"] })).code, 1);
	assert.equal((await run(revoke, { env: server.env })).code, 2);
	assert.equal((await run(["revoke", "--yes"], { env: { ...server.env, SVC_REALM: "shop" } })).code, 2);
	assert.equal((await run(["revoke", "--user", "bob", "--yes"], { env: server.env })).code, 4);
	assert.deepEqual(posted(server), []);
	const asked = await run(revoke, { env: server.env, typed: ["y\n"] });
	assert.match(asked.stdout, /^sessions\D+2\nAPI tokens\D+1\ncredentials\D+3\nidentities\D+4\n$/);
	assert.match(asked.stderr, /\bada@example\.com\b.*\?.*--state revoking.*svc users disable ada/s);
	const both = await run([...revoke, "--realm", "shop"], { env: server.env, typed: ["y\n"] });
	assert.match(both.stderr, /\bada@example\.com\b.*\brealm shop\?/);
	const realm = await run(["revoke", "--realm", "shop"], { env: server.env, typed: ["y\n"] });
	assert.match(realm.stderr, /^(?!.*ada@).*\brealm shop\?/);
	assert.equal((await run(["revoke", "--realm", "shop", "--yes", "--json"], { env: server.env })).stderr, "");
	assert.deepEqual(
		posted(server).map(([, body]) => body),
		[{ user_id: "u1" }, { user_id: "u1", realm: "shop" }, { realm: "shop" }, { realm: "shop" }],
	);
});

test("revoke lists what a user made for others, and --with-made ends it", async () => {
	await using server = await start({ ...ADA, disabled: true });
	const revoke = ["revoke", "--user", "ada@example.com"];
	const listed =
		"  machine shop/deploy\n  token svc_aaaa… of machine shop/deploy\n  trust github of machine shop/deploy\n  invitation of bob@example.com\n";
	const linked = (what: string) => new RegExp(`\\nidentities .* ${what}\\b.*:\\n  corp: s-1\\n`);
	const kept = await run([...revoke, "--yes"], { env: server.env });
	assert.match(kept.stderr, new RegExp(`^.* stays, .*--with-made:\n${listed}`));
	assert.match(kept.stderr, linked("end"));
	const ended = await run([...revoke, "--with-made", "--yes"], { env: server.env });
	assert.match(ended.stderr, new RegExp(`^.* ends, .*:\n${listed}`));
	assert.match(ended.stderr, linked("end"));
	const keeping = await run([...revoke, "--keep-links", "--yes"], { env: server.env });
	assert.match(keeping.stderr, linked("stay"));
	assert.match(
		ended.stdout,
		/\nmachines deleted: 5\ntokens of machines ended: 6\ntrusts removed: 8\ninvitations ended: 7\n$/,
	);
	for (const more of [["--realm", "shop"], []])
		assert.equal((await run(["revoke", "--with-made", ...more, "--yes"], { env: server.env })).code, 2);
	assert.deepEqual(
		posted(server).map(([, body]) => body),
		[{ user_id: "u1" }, { user_id: "u1", with_made: true }, { user_id: "u1", keep_links: true }],
	);
});

test("revoke says where a list of what a user made may not be whole", async () => {
	const times = (length: number, [row]: readonly object[]) => Array.from({ length }, () => row);
	const made = { ...MADE, machines: times(100, MADE.machines), trusts: times(99, MADE.trusts) };
	await using server = await start({ ...ADA, disabled: true }, made);
	const { stderr } = await run(["revoke", "--user", "ada@example.com", "--yes"], { env: server.env });
	const more = "  … and perhaps more: the newest 100 of each kind are shown\n";
	assert.ok(stderr.includes(`  machine shop/deploy\n${more}  token svc_aaaa…`), stderr);
	assert.equal(stderr.split(more).length, 2);
});

test("users find matches a part of the e-mail or name, ignores case, and limits its results", async () => {
	const person = (id: string, email: string, name: string) => ({ ...ADA, id, email, name });
	const people = [
		person("u1", "ada@example.com", "Ada"),
		person("u2", "bob@example.com", "ADAM"),
		person("u3", "c@d.e", "C"),
	];
	const crowd = Array.from({ length: 101 }, (_, at) => person(`c${at}`, `${at}@crowd.example`, "x"));
	await using server = await startService(() => page("users", [...people, ...crowd]));
	const found = async (...words: string[]) => await run(["users", "find", ...words], { env: server.env });
	const ids = ({ stdout }: { stdout: string }) =>
		stdout
			.split("\n")
			.slice(1, -1)
			.map((line) => line.split(" ")[0]);
	assert.deepEqual(ids(await found("aDa")), ["u1", "u2"]);
	assert.match((await found("nobody")).stderr, /`svc users list`/);
	const many = await found("@crowd");
	assert.equal(ids(many).length, 100);
	assert.match(many.stderr, /\b100\b/);
	const { users } = JSON.parse((await found("bob@", "--json")).stdout);
	assert.deepEqual(
		users.map(({ id }: { id: string }) => id),
		["u2"],
	);
});
