/* The pages of the server: what they show, and to whom. */
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, login, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { addFactor } from "../harness/totp.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let eve: Person;
let admin: { cookie: string };
let other: { cookie: string };

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	eve = await person(client, "eve");
	admin = await enter(server, root);
	other = await enter(server, eve);
});
after(() => server.close());

/** Reads a page, as text without tags. */
async function read(path: string, who = admin): Promise<string> {
	const { status, text } = await ask(server, "GET", path, who);
	assert.equal(status, 200, path);
	return text.replace(/<style>.*?<\/style>/s, "").replace(/<[^>]*>/g, " ");
}

/** Returns the marks of the verdicts on Health: that of the server, and, for an instance admin, that of the doctor. */
async function verdicts(who: { cookie: string }): Promise<string[]> {
	const { text } = await ask(server, "GET", "/console/health", who);
	const [line = ""] = /<p><strong.*?<\/p>/s.exec(text) ?? [];
	return [...line.matchAll(/<strong(?: class="(\w+)")?>/g)].map(([, mark = ""]) => mark);
}

test("Health draws what the server answered, and has the same numbers as a table", async () => {
	const { slug } = await realm(client, root, "shop");
	await secret(client, root, slug, "DB_URL", "one");
	for (let count = 0; count < 4; count++) ok(await client.get("/realms", { token: root.token }));
	for (let count = 0; count < 3; count++) assert.equal((await client.get("/keys", { token: eve.token })).status, 403);
	const wrong = { email: eve.email, password: "another password" };
	assert.equal((await client.post("/auth/login", wrong)).status, 401);
	assert.equal((await ask(server, "POST", "/console/sign-in", ours(server), wrong)).status, 401);
	assert.deepEqual(await verdicts(other), [""]);
	for (const span of ["hour", "day"]) {
		const { text } = await ask(server, "GET", `/console/health?of=${span}`, other);
		assert.equal((text.match(/<svg /g) ?? []).length, 6);
		assert.match(text, /role="img" aria-label="Denials [^"]*: at most 3\./);
		const cells = [...text.matchAll(/data-label="([^"]+)">([^<]*)/g)];
		const sum = (label: string) =>
			cells.filter(([, name]) => name === label).reduce((all, [, , value]) => all + Number(value), 0);
		assert.deepEqual([sum("Denials"), sum("Failed sign-ins")], [3, 2]);
		assert.ok(sum("Reads") >= 4 && sum("Writes") >= 6);
		assert.doesNotMatch(text, new RegExp(`${slug}|DB_URL`), "it names no realm and no key");
	}
	assert.equal((await ask(server, "GET", "/console/health")).status, 401);
	assert.match((await ask(server, "GET", "/console", other)).text, /<a href="\/console\/health">/, "one click away");
});

const FOR_ADMINS = ["doctor", "engines", "backups", "keys", "limits", "people", "providers"];

/** Sends a form of a page of the server. */
async function send(page: string, form: Record<string, string>, who = admin): Promise<[status: number, text: string]> {
	const target = `/console/${page}`;
	const form_token = await tokenOf(server, who);
	const answer = await ask(server, "POST", target, { ...who, ...ours(server) }, { ...form, form_token });
	const shown = answer.status === 303 ? await ask(server, "GET", String(answer.headers.location), who) : answer;
	return [answer.status, /class="(?:notice|error)"[^>]*>([^<]*)/.exec(shown.text)?.[1] ?? ""];
}

test("only the instance admin is offered the pages of the server, and can use them", async () => {
	const health = await read("/console/health", other);
	const first = (await ask(server, "GET", "/console/health", other)).text;
	const firstOfAdmin = (await ask(server, "GET", "/console/health", admin)).text;
	for (const page of FOR_ADMINS) {
		assert.equal((await ask(server, "GET", `/console/${page}`, other)).status, 403, page);
		assert.equal((await ask(server, "GET", `/console/${page}`)).status, 401, page);
		assert.doesNotMatch(health, new RegExp(page, "i"));
		assert.doesNotMatch(first, new RegExp(`/console/${page}`));
		assert.match(firstOfAdmin, new RegExp(`<a href="/console/${page}">`), "one click from Health");
	}
	const forms: [page: string, form: Record<string, string>][] = [
		["backups", {}],
		["keys", { purpose: "record", sure: "yes" }],
		["engines/totp", { action: "try" }],
		["engines/totp/remove", {}],
		["providers/corp?type=ldap", { action: "try" }],
		["providers/corp", { action: "test" }],
		["providers/corp/remove", {}],
		[`people/${eve.id}`, { action: "promote" }],
		...["reset", "disable", "revoke"].map((action): [string, { action: string }] => [`people/${root.id}`, { action }]),
	];
	for (const [page, form] of forms) assert.equal((await send(page, form, other))[0], 403, page);
	assert.match(await read("/console/doctor"), /clock\s+ok/);
	assert.match(await read("/console/limits"), /\bconnections_per_source\s+\d+\s+\d/);
});

test("Health and the chain say what the doctor found", async () => {
	assert.equal((await verdicts(admin))[0], "");
	const key = join(server.data, "tls.key");
	chmodSync(key, 0o644);
	const doctor = async () => (await ask(server, "GET", "/console/doctor", admin)).text;
	assert.match(await doctor(), /<strong class="bad">/);
	chmodSync(key, 0o600);
	assert.deepEqual(await verdicts(admin), ["bad", "bad"]);
	assert.deepEqual(await verdicts(other), ["bad"]);
	assert.doesNotMatch(await read("/console/health", other), /doctor/i);
	assert.match((await ask(server, "GET", "/console/chain", admin)).text, /<\/time>: <span class="">[^<]*\d/);
	assert.match(await doctor(), /class="about"><a href="\/console\/backups">/);
	assert.deepEqual(await verdicts(admin), ["", "warn"]);
});

test("the page of a person says whose and how much ends", async () => {
	const bob = await person(client, "bob");
	const { name, token } = await apiToken(client, bob, "read");
	const { text: his } = await ask(server, "GET", `/console/people/${bob.id}`, admin);
	assert.match(his, /<li>1 [^<]+<\/li><li>1 [^<]+<\/li>/);
	for (const what of ["sessions", "tokens"])
		assert.equal(his.match(new RegExp(`href="/console/people/${bob.id}/${what}/[^/]+/end"`, "g"))?.length, 1, what);
	assert.ok(his.includes(name) && !his.includes(token));
	assert.match(his, /<p>[^<]*\b1\b[^<]*\b1\b[^<]*<\/p><form[^>]*>.{0,300}name="action" value="disable"/s);
	assert.match(
		(await send(`people/${bob.id}`, { action: "disable" }))[1],
		new RegExp(`^${bob.email}\\b.*\\b1\\b.*\\b1\\b`),
	);
	await send(`people/${bob.id}`, { action: "enable" });
	await login(client, bob);
	const [, ended] = await send(`people/${bob.id}`, { action: "revoke" });
	assert.match(ended, new RegExp(`${bob.email}.*\\b1\\b.*\\b1\\b.*\\b0\\b`));
});

test("the instance admin makes a backup and rotates a key", async () => {
	const shown = await read("/console/backups");
	const listed = /svc-\S+\s+20\d\d-.*MiB/;
	assert.doesNotMatch(shown, listed);
	for (const named of ["backups ", "master.key ", "backups/NAME --replace"])
		assert.ok(shown.includes(`${server.data}/${named}`), shown);
	const [made, message] = await send("backups", {});
	assert.deepEqual([made, /\bsvc-\S+/.test(message)], [303, true], message);
	assert.match(await read("/console/backups"), listed);
	const keys = async () => (await read("/console/keys")).match(/record\s+[0-9a-f]+\s+(active|retired)/g) ?? [];
	const before = await keys();
	assert.equal((await send("keys", { purpose: "record" }))[0], 400, "it asks first");
	assert.equal((await send("keys", { purpose: "everything", sure: "yes" }))[0], 400);
	assert.deepEqual(await keys(), before);
	assert.equal((await send("keys", { purpose: "record", sure: "yes" }))[0], 303);
	assert.equal((await keys()).length, before.length + 1);
});

test("the instance admin disables, enables and revokes, and cannot disable herself", async () => {
	const bob = await person(client, "bob");
	const works = async () => (await client.get("/auth/whoami", { token: bob.token })).status;
	assert.equal((await send(`people/${root.id}`, { action: "disable" }))[0], 409);
	assert.equal((await send(`people/${bob.id}`, { action: "anoint" }))[0], 400);
	assert.equal((await send(`people/${bob.id}`, { action: "disable" }))[0], 303);
	assert.equal(await works(), 401);
	assert.match(await read("/console/people"), new RegExp(`${bob.email}\\s+bob\\s+20\\d\\d-.*disabled`));
	assert.equal((await send(`people/${bob.id}`, { action: "enable" }))[0], 303);
	const token = await login(client, bob);
	assert.equal((await send(`people/${bob.id}`, { action: "revoke" }))[0], 303);
	assert.equal((await client.get("/auth/whoami", { token })).status, 401);
	assert.notEqual(await login(client, bob), "", "revoking disables nobody");
});

test("the instance admin makes and unmakes another one, and a reset code that is shown once", async () => {
	const bob = await person(client, "bob");
	const act = (action: string, user_id = bob.id) => send(`people/${user_id}`, { action });
	assert.equal((await act("promote"))[0], 303);
	assert.equal((await client.get("/users", { token: bob.token })).status, 200);
	assert.equal((await act("demote"))[0], 303);
	assert.equal((await client.get("/users", { token: bob.token })).status, 403);
	assert.equal((await act("demote", root.id))[0], 409, "the last one stays");
	assert.equal((await act("reset", root.id))[0], 409, "her own she changes with the password");

	const form_token = await tokenOf(server, admin);
	const his = `/console/people/${bob.id}`;
	const made = await ask(server, "POST", his, { ...admin, ...ours(server) }, { action: "reset", form_token });
	assert.deepEqual([made.status, made.headers.location, made.text], [303, his, ""]);
	const shown = await ask(server, "GET", his, admin);
	const code = /data-value="300"[^>]*>\s*([\w-]+)</.exec(shown.text)?.[1] ?? "";
	assert.match(shown.text, new RegExp(`class="notice"[^>]*>[^<]*${bob.email}`));
	assert.doesNotMatch((await ask(server, "GET", his, admin)).text, new RegExp(code));
	const new_password = "another password of bob";
	ok(await client.post("/auth/reset", { email: bob.email, code, new_password }));
	assert.notEqual(await login(client, { email: bob.email, password: new_password }), "");
	assert.equal((await act("disable"))[0], 303);
	assert.equal((await act("reset"))[0], 409, "a disabled account is enabled first");
});

test("the instance admin ends the lost factors of somebody, disabled or not, and not her own", async () => {
	const bob = await person(client, "bob");
	await addFactor(client, bob);
	const act = async (action: string, user_id = bob.id) => (await send(`people/${user_id}`, { action }))[0];
	const offered = async (id = bob.id) => (await ask(server, "GET", `/console/people/${id}`, admin)).text;
	const dropping = /name="action" value="drop-factors"/;
	assert.match(await offered(), dropping);
	assert.doesNotMatch(await offered(root.id), dropping);
	assert.equal(await act("disable"), 303);
	assert.match(await offered(), dropping);
	assert.equal(await act("drop-factors", root.id), 409);
	assert.equal(await act("drop-factors"), 303);
	assert.equal(await act("enable"), 303);
	assert.notEqual(await login(client, bob), "");
});

test("asking again takes the password, and leads back into the console only", async () => {
	const before = await ask(server, "GET", "/console/confirm?target=/console/account", other);
	assert.match(before.text, /name="target" value="\/console\/account"[\s\S]*type="password"/);
	const form_token = await tokenOf(server, other);
	const confirm = (form: Record<string, string>, headers = ours(server)) =>
		ask(server, "POST", "/console/confirm", { ...other, ...headers }, { form_token, ...form });
	const wrong = await confirm({ password: "not hers", target: "/console/account" });
	assert.deepEqual([wrong.status >= 400, /not hers/.test(wrong.text)], [true, false]);
	assert.equal((await confirm({ password: "" })).status, 400);
	assert.equal((await confirm({ password: eve.password, form_token: "forged" })).status, 403);
	for (const target of ["/console/account", "https://evil.test/", "//evil.test", "/console/../api"]) {
		const { status, headers } = await confirm({ password: eve.password, target });
		assert.deepEqual([status, headers.location], [303, target === "/console/account" ? target : "/console"]);
	}
});
