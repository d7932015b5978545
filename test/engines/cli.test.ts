/* `svc engine` and `svc lease` as an operator runs them: real processes against the real server and a real Redis. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as KINDS from "../../packages/server/src/engines/kinds/registry.ts";
import { type Cli, createCli, type Outcome } from "../harness/cli.ts";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { bind, person } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

const options = { skip: skipWithoutRedis };
const MASK = "********";

let world: EngineWorld;
let redis: Redis;
let cli: Cli;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutRedis !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	cli = await createCli(world.server, world.admin);
	ends.defer(cli.close);
});

/** Runs a command that must end with this code; its output contains no secret. */
async function svc(code: number, line: string, stdin?: string): Promise<Outcome> {
	const outcome = await cli.run(line.replaceAll("REALM", world.slug).split(" "), stdin);
	assert.equal(outcome.code, code, `svc ${line}: ${outcome.stdout}${outcome.stderr}`);
	assert.ok(!(outcome.stdout + outcome.stderr).includes(redis.password), `svc ${line} shows the password`);
	return outcome;
}

async function json<T>(line: string, code = 0): Promise<T> {
	const { stdout, stderr } = await svc(code, `${line} --json`);
	assert.equal(code === 0 ? stderr : stdout, "", "one document, and nothing beside it");
	return JSON.parse(code === 0 ? stdout : stderr);
}

interface Made {
	readonly username: string;
	readonly password: string;
	readonly lease_id: string;
}

const make = (more = "") => json<Made>(`engine generate keyvalue --realm REALM${more}`);

/** Rows of a table, head first, split at two or more spaces. */
const rows = ({ stdout }: Outcome) =>
	stdout
		.trimEnd()
		.split("\n")
		.map((line) => line.split(/ {2,}/));

/** Configures the engine; passes the password on standard input. */
const configure = () =>
	svc(
		0,
		`engine set keyvalue --allow-realm REALM --set address=${redis.address} --secret password`,
		`${redis.password}\n`,
	);

test("every refusal leads an operator to the next command", options, async () => {
	const list = rows(await svc(0, "engine list"));
	const [heading, ...types] = list.map(([first]) => first);
	assert.deepEqual([heading, new Set(types)], ["TYPE", new Set(Object.keys(KINDS))]);
	assert.match((await svc(1, "engine generate keyvalue --realm REALM")).stderr, /^svc: .*`svc engine set keyvalue`/s);
	assert.match((await svc(1, "engine ping keyvalue")).stderr, /^svc: .*`svc engine set keyvalue`/s);
	assert.match((await svc(4, "engine show keyvalue")).stderr, /^svc: .*`svc engine set`/s);
	assert.match((await svc(4, "engine remove keyvalue --yes")).stderr, /^svc: .*`svc engine set`/s);
	for (const line of ["show nothing", "set nothing", "generate nothing --realm REALM"]) {
		assert.match((await svc(4, `engine ${line}`)).stderr, /^svc: engine .*\bnothing\b.*\nhint: `svc engine list`/);
	}
	assert.match((await svc(4, "engine generate keyvalue --realm nothing")).stderr, /`svc realm list`/);
	assert.match((await svc(2, "engine generate keyvalue")).stderr, /\nhint: --realm, SVC_REALM or \.svc\.toml/);
	assert.match((await svc(0, "lease list --realm REALM")).stderr, /`svc engine generate`/);
	const { error } = await json<{ error: object }>("engine show nothing", 4);
	assert.deepEqual(Object.keys(error), ["code", "message", "status"]);
});

test(
	"a configuration that is wrong is refused with what is right, and one that does not work is stored only with --force",
	options,
	async () => {
		const set = (rest: string, code = 1) =>
			svc(code, `engine set keyvalue --allow-realm REALM ${rest}`, "canary-password\n");
		assert.match((await set("--set adress=127.0.0.1:1 --secret password")).stderr, /^svc: .*\baddress, password,/);
		assert.match((await set("--set address=nowhere --secret password")).stderr, /^svc: address .*host:port/);
		assert.match((await set("--set address=127.0.0.1:1")).stderr, /^svc: password\b/);
		assert.match(
			(await set("--set address=127.0.0.1:1 --secret password --set max_ttl=long")).stderr,
			/^svc: max_ttl\b/,
		);
		assert.match((await set("--set address=127.0.0.1:1 --secret password --set tls=maybe")).stderr, /^svc: tls\b/);
		const broken = "--set address=127.0.0.1:1 --secret password";
		assert.match((await set(broken)).stderr, /\(ECONNREFUSED\)\nhint: .*--force/);
		await svc(4, "engine show keyvalue");
		const { stdout, stderr } = await set(`${broken} --force`, 0);
		assert.match(stdout, /^status +ping failed: .*\(ECONNREFUSED\)$/m);
		assert.match(stderr, /\bstored\b/);
		const ping = await svc(5, "engine ping keyvalue");
		assert.match(ping.stderr, /^svc: ping failed: .*\(ECONNREFUSED\)\nhint: `svc engine show`/);
		assert.match((await svc(5, "engine generate keyvalue --realm REALM")).stderr, /hint: .*`svc engine ping`/);
		assert.equal((await json<{ error: { code: string } }>("engine ping keyvalue", 5)).error.code, "engine_unavailable");
	},
);

test(
	"a configuration is set from standard input or a file, shown without its secret, and what is shown can be set again",
	options,
	async () => {
		assert.match((await configure()).stdout, /^status +healthy$/m);
		assert.equal((await svc(0, "engine ping keyvalue")).stdout, "healthy\n");
		assert.equal((await svc(0, "engine ping keyvalue --realm REALM")).stdout, "healthy\n");
		await svc(1, "engine set keyvalue --allow-realm REALM --set address=127.0.0.1:1 --secret password", "other\n");
		const shown = await json<Record<string, unknown>>("engine show keyvalue");
		assert.deepEqual([shown.password, shown.address, shown.status], [MASK, redis.address, "healthy"]);
		const file = join(cli.home, "keyvalue.json");
		await writeFile(file, JSON.stringify({ ...shown, max_ttl: "2h" }));
		const again = await svc(0, `engine set keyvalue --from ${file} --set max_connections=7`);
		assert.match(again.stdout, /^max_ttl +2h$/m);
		assert.match(again.stdout, /^max_connections +7$/m);
		assert.match(again.stdout, /^password +\*{8}$/m);
		await svc(
			0,
			`engine set keyvalue --realm REALM --from -`,
			JSON.stringify({ address: redis.address, password: redis.password }),
		);
		assert.match((await svc(0, "engine show keyvalue --realm REALM")).stdout, /^max_ttl +24h$/m);
		for (const code of [0, 4]) await svc(code, "engine remove keyvalue --realm REALM --yes");
	},
);

test("a credential is made, works, is seen, and is revoked by its name or by its lease", options, async () => {
	const table = await svc(0, "engine generate keyvalue --realm REALM --role readwrite --ttl 30m");
	assert.match(table.stdout, /^username +svc_[0-9a-f]{8}\npassword +[0-9a-f]{24}\nexpires_at +\S+Z\n/);
	const lease_id = /^lease_id +(\S+)$/m.exec(table.stdout)?.[1];
	assert.ok(table.stderr.includes(`\`svc lease revoke ${lease_id} --realm ${world.slug}\``), table.stderr);
	const { username, password, ...other } = await make();
	const session = await redis.login(username, password);
	assert.equal(await session.send("GET", "nothing"), null);
	const list = rows(await svc(0, "lease list --realm REALM --state active --engine keyvalue"));
	assert.deepEqual(list[0], ["ID", "ENGINE", "ROLE", "NAME", "FOR", "STATE", "EXPIRES"]);
	assert.deepEqual(list[1]?.slice(0, 6), [
		other.lease_id,
		"keyvalue",
		"readonly",
		username,
		world.admin.email,
		"active",
	]);
	assert.deepEqual(list[2]?.[0], lease_id);
	const all = rows(await svc(0, "lease list"));
	assert.deepEqual(all[0]?.slice(0, 3), ["ID", "REALM", "ENGINE"]);
	assert.deepEqual(all[1]?.slice(0, 3), [other.lease_id, world.slug, "keyvalue"]);
	const validated = await svc(0, `engine validate keyvalue --realm REALM --param username=${username}`);
	assert.equal(validated.stdout, `valid    true\nmessage  credentials revoked: user ${username} deleted\n`);
	await session.ended;
	await svc(0, `lease revoke ${lease_id} --realm REALM`);
	assert.match((await svc(0, `lease show ${lease_id} --realm REALM`)).stdout, /^state +revoked$/m);
	assert.deepEqual(await redis.users(), []);
	assert.equal((await json<{ leases: object[] }>("lease list --realm REALM")).leases.length, 2);
});

test("a refusal of an engine is shown in its own words", options, async () => {
	assert.match(
		(await svc(1, "engine generate keyvalue --realm REALM --role root")).stderr,
		/^svc: unknown role root\b.* readonly, readwrite, admin\n$/,
	);
	assert.match((await svc(1, "engine generate keyvalue --realm REALM --ttl 99h")).stderr, /^svc: ttl 99h .* 2h\n$/);
	assert.match(
		(await svc(1, "engine generate keyvalue --realm REALM --ttl soon")).stderr,
		/^svc: invalid ttl: .* 1h\b/,
	);
	assert.match(
		(await svc(1, "engine validate keyvalue --realm REALM --param username=default")).stderr,
		/^svc: refusing to delete/,
	);
	assert.match((await svc(2, "lease list --state nothing")).stderr, /--state\b.* intent, active,/);
	for (const line of [
		"show nothing --realm REALM",
		"revoke nothing --realm REALM",
		"abandon nothing --reason gone --yes",
	])
		assert.match((await svc(4, `lease ${line}`)).stderr, /^svc: lease nothing\b.*\nhint: `svc lease list`/);
	assert.match((await svc(2, "lease abandon nothing")).stderr, /--reason/);
});

test("all leases of an engine are revoked at once, on a yes only", options, async () => {
	for (let count = 0; count < 3; count++) await make();
	assert.match((await svc(2, "lease revoke-all --yes")).stderr, /--realm, --user or --engine/);
	assert.match((await svc(2, "lease revoke-all --engine keyvalue")).stderr, /--yes\b/);
	assert.equal((await redis.users()).length, 3);
	assert.match((await svc(4, "lease revoke-all --realm nothing --yes")).stderr, /^svc: realm nothing\b/);
	assert.match((await svc(0, "lease revoke-all --engine pki --yes")).stdout, /\b0\n$/);
	const { stdout } = await svc(0, `lease revoke-all --engine keyvalue --user ${world.admin.id} --realm REALM --yes`);
	assert.match(stdout, /\b3\n$/);
	await eventually("all are gone", async () => (await redis.users()).length === 0);
});

test("a lease whose target is away waits, says why, and can be abandoned", options, async () => {
	const [first, second] = [await make(), await make()];
	await redis.kill();
	const queued = await svc(0, `lease revoke ${first.lease_id} --realm REALM`);
	assert.match(queued.stdout, /\bunreachable\b/);
	assert.match(queued.stderr, /`svc lease show \S+ --realm \S+`/);
	await svc(5, `engine validate keyvalue --realm REALM --param username=${second.username}`);
	const waiting = rows(await svc(0, "lease list --realm REALM --state revoking"));
	assert.deepEqual([waiting[0]?.at(-1), waiting.length], ["LAST ERROR", 3]);
	for (const row of waiting.slice(1)) assert.match(row.at(-1) ?? "", /key-value store/);
	const abandon = `lease abandon ${first.lease_id} --reason gone --yes`;
	await svc(0, abandon);
	await svc(1, abandon);
	await redis.start();
	await eventually("the other one is revoked", async () =>
		(await svc(0, `lease show ${second.lease_id} --realm REALM`)).stdout.includes("revoked"),
	);
	assert.match((await svc(0, `lease show ${first.lease_id} --realm REALM`)).stdout, /^state +abandoned$/m);
});

test("a person who administers nothing is refused, and sees the leases of a realm", options, async (t) => {
	const viewer = await person(world.client, "viewer");
	await bind(world.client, world.admin, world.slug, viewer, "viewer");
	const other = await createCli(world.server, viewer);
	t.after(other.close);
	for (const args of [
		["engine", "show", "keyvalue"],
		["engine", "ping", "keyvalue"],
		["engine", "remove", "keyvalue", "--yes"],
		["lease", "list"],
	]) {
		const { code, stderr } = await other.run(args);
		assert.equal(code, 3, stderr);
		assert.match(stderr, /^svc: \S/);
	}
	assert.match((await other.run(["lease", "list"])).stderr, /hint: --realm, SVC_REALM or \.svc\.toml/);
	assert.equal((await other.run(["lease", "list", "--realm", world.slug])).code, 0);
	const denied = await other.run(["engine", "generate", "keyvalue", "--realm", world.slug, "--role", "admin"]);
	assert.equal(denied.code, 3, denied.stderr);
});

test("engines that reach no system need no configuration", options, async () => {
	const { secret, url } = await json<{ secret: string; url: string }>(
		"engine generate totp --realm REALM --param issuer=svc --param account=ada",
	);
	assert.ok(url.includes(secret));
	const wrong = await svc(0, "engine validate totp --realm REALM --secret secret --param code=000", `${secret}\n`);
	assert.equal(wrong.stdout, "valid  false\n");
	const made = await json<{ certificate: string; san: string[] }>(
		'engine generate pki --realm REALM --ttl 7d --param common_name=app.example --param san=["app.example","10.0.0.1"]',
	);
	assert.deepEqual(made.san, ["app.example", "10.0.0.1"]);
	const file = join(cli.home, "params.json");
	await writeFile(file, JSON.stringify({ certificate: made.certificate }));
	const valid = await svc(0, `engine validate pki --realm REALM --from ${file}`);
	assert.match(valid.stdout, /^valid {4}true\nmessage {2}cn=app\.example serial=[0-9a-f]{32} expires=\S+Z\n$/);
});
