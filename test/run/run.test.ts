/* `svc run` as a person runs it: real processes against the real server. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { apiToken, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { type Person, startPerson } from "./run-world.ts";

const MASK = "*****";

const VALUE = "canary-of-the-database-é-'\"$(x)\nsecond line";

let server: Server;
let ada: Person;
let token: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	server = await startServer();
	ends.defer(server.close);
	const client = api(server);
	const admin = await person(client, "ada");
	const { slug } = await realm(client, admin, "shop");
	({ token } = await apiToken(client, admin, "read"));
	ada = ends.use(await startPerson(server, token));
	Object.assign(ada.env, { SVC_REALM: slug, SVC_ENV: "prod" });
	const set = (key: string, value: string, environment = "prod") =>
		secret(client, admin, slug, key, value, { environment });
	await set("DATABASE_URL", VALUE);
	await set("api-key/v1.2", "canary-of-the-key", "staging");
	await set("PATH", "/canary", "test");
	for (let index = 0; index < 101; index++) await set(`KEY_${index}`, `canary ${index}`, "dev");
});

/** Runs a script in a shell under svc. */
const sh = (script: string, ...options: string[]) => ada.run(["run", ...options, "--", "sh", "-c", script]);

/** Returns the output of a program without the mask. */
async function plain(script: string, ...options: string[]): Promise<string> {
	const { code, stdout, stderr } = await sh(script, "--no-masking", ...options);
	assert.deepEqual([code, stderr], [0, ""]);
	return stdout;
}

test("the program's exit code is svc's", async () => {
	for (const code of [0, 7, 255]) assert.equal((await sh(`exit ${code}`)).code, code);
	assert.equal((await sh("kill -9 $$")).code, 128 + 9);
	assert.equal((await sh("kill -TERM $$")).code, 128 + 15);
});

test("a program that is not found is 127, one that cannot be run 126, and svc's own failure 125", async () => {
	const missing = await ada.run(["run", "--", "no-such-program"]);
	assert.equal(missing.code, 127);
	assert.match(missing.stderr, /^svc: no-such-program .*\nhint: .*\bPATH\n$/);
	const plain = join(ada.home, "plain");
	await writeFile(plain, "no program", { mode: 0o644 });
	const refused = await ada.run(["run", "--", plain]);
	assert.equal(refused.code, 126);
	assert.match(refused.stderr, /\(EACCES\)\nhint: .*`chmod \+x`/);
	assert.equal((await ada.run(["run", "--", "/"])).code, 126);
	for (const args of [["run"], ["run", "--nonsense", "true"], ["run", "--env", "none", "true"]])
		assert.equal((await ada.run(args)).code, 125, args.join(" "));
	assert.equal((await ada.run(["run", "true"], { SVC_TOKEN: "svc_wrong" })).code, 125);
	assert.equal((await ada.run(["run", "true"], { SVC_ADDRESS: "http://127.0.0.1:1" })).code, 125);
	assert.equal((await ada.run(["run", "--realm", "nowhere", "true"])).code, 125);
});

test("options after the program's name are the program's", async () => {
	assert.equal((await ada.run(["run", "echo", "--env", "-n", "--", "--json"])).stdout, "--env -n -- --json\n");
	assert.equal((await ada.run(["run", "--", "echo", "--", "a  b"])).stdout, "-- a  b\n");
});

test("every secret arrives byte for byte, of more than one page, and nothing of svc's own", async () => {
	const dump = ["run", "--no-masking", "--", "node", "-p", "JSON.stringify(process.env)"];
	const child = JSON.parse((await ada.run(dump)).stdout);
	assert.equal(child.DATABASE_URL, VALUE);
	const names = Object.keys(child).toSorted((a, b) => (a < b ? -1 : 1));
	assert.deepEqual(names, ["DATABASE_URL", "HOME", "PATH", "SVC_ADDRESS", "SVC_CACERT", "SVC_ENV", "SVC_REALM"]);
	assert.equal(await plain("env | grep -c ^KEY_", "--env", "dev"), "101\n");
	const own = { SVC_MASTER_KEY: "x".repeat(43), SVC_ORCH_TOKEN: "x", SVC_PKI_CA_KEY: "x" };
	const { stdout } = await ada.run(["run", "--", "env"], own);
	assert.doesNotMatch(stdout, /^(?:SVC_TOKEN|SVC_MASTER_KEY|SVC_ORCH_TOKEN|SVC_PKI_CA_KEY|NODE_COMPILE_CACHE)=/m);
});

test("neither token nor secret is in what the system shows of svc and its program", async () => {
	const svc = ada.start(["run", "--only", "DATABASE_URL", "--", "sh", "-c", "echo at $$; exec sleep 60"]);
	const [, pid] = await svc.shows(/^at (\d+)$/m);
	const read = (file: string) => readFile(`/proc/${file}`, "utf8");
	const child = await read(`${pid}/environ`);
	assert.ok(child.includes(`DATABASE_URL=${VALUE}`));
	assert.ok(!child.includes(token), "the token is not the program's");
	assert.ok(
		!(await read(`${svc.child.pid}/environ`)).includes("canary"),
		"svc puts no secret into its own environment",
	);
	for (const process of [pid, svc.child.pid]) assert.doesNotMatch(await read(`${process}/cmdline`), /canary|svc_/);
	svc.child.kill("SIGTERM");
	assert.equal((await svc.ended()).code, 128 + 15);
});

test("signals reach the program once, and its answer to them is svc's", async () => {
	const script = `
		const seen = [];
		for (const name of ["SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"])
			process.on(name, () => { seen.push(name); console.log("seen", seen.join(" ")); });
		process.on("SIGTERM", () => process.exit(seen.length));
		setInterval(() => {}, 1000);
		console.log("ready");`;
	const svc = ada.start(["run", "--", "node", "-e", script]);
	await svc.shows("ready");
	const seen: string[] = [];
	for (const name of ["SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const) {
		svc.child.kill(name);
		seen.push(name);
		await svc.shows(`^seen ${seen.join(" ")}$`.replace(/^\^/, "(?:^|\\n)").replace(/\$$/, "\\n"));
	}
	svc.child.kill("SIGTERM");
	assert.equal((await svc.ended()).code, seen.length);
	const deaf = ada.start(["run", "--", "sh", "-c", "echo ready; exec sleep 60"]);
	await deaf.shows("ready");
	deaf.child.kill("SIGINT");
	assert.equal((await deaf.ended()).code, 128 + constants.signals.SIGINT);
});

test("keys that cannot be variables are refused, or renamed on request", async () => {
	const refused = await sh("true", "--env", "staging");
	assert.equal(refused.code, 125);
	assert.match(refused.stderr, /^svc: api-key\/v1\.2 .*\nhint: --map-names .*--except/);
	const mapped = await plain('printf %s "$P_api_key_v1_2"', "--env", "staging", "--map-names", "--prefix", "P_");
	assert.equal(mapped, "canary-of-the-key");
	assert.equal((await sh("true", "--env", "staging", "--except", "api-key/v1.2")).code, 0);
	const reserved = await sh("true", "--env", "test");
	assert.equal(reserved.code, 125);
	assert.match(reserved.stderr, /^svc: PATH .*\nhint: .*--allow-reserved/);
	assert.equal(await plain("echo $MY_PATH", "--env", "test", "--prefix", "MY_"), "/canary\n");
	assert.equal((await ada.run(["run", "--env", "test", "--allow-reserved", "/usr/bin/env"])).code, 0);
});

test("only some secrets, or all but some; a key that is not there is named", async () => {
	const names = async (...options: string[]) =>
		(await sh("env | grep ^KEY_ | wc -l", "--env", "dev", ...options)).stdout;
	assert.equal((await names("--only", "KEY_7", "--only", "KEY_8")).trim(), "2");
	assert.equal((await names("--except", "KEY_7")).trim(), "100");
	const missing = await sh("true", "--only", "KEY_7000");
	assert.equal(missing.code, 125);
	assert.match(missing.stderr, /^svc: secret KEY_7000 .*\nhint: `svc secret list`/);
});

test("a command line meant for a shell is refused with a hint", async () => {
	const literal = await ada.run(["run", "--", "echo", "$DATABASE_URL"]);
	assert.equal(literal.stdout, "$DATABASE_URL\n");
	assert.match(literal.stderr, /^hint: .*\$DATABASE_URL .*sh -c/);
	assert.equal((await ada.run(["run", "--", "echo", "$HOME"])).stderr, "");
	assert.equal((await sh("true $DATABASE_URL")).stderr, "");
});

test("values are masked in both outputs, whatever pieces they come in, and bytes pass as they are", async () => {
	const script = `printf %s "$DATABASE_URL" | dd bs=7 status=none; printf '\\377\\0|'; echo "of $DATABASE_URL" >&2`;
	const { stdout, stderr } = await sh(script);
	assert.deepEqual([stdout, stderr], [`${MASK}\ufffd\0|`, `of ${MASK}\n`]);
	const slow = ada.start(["run", "--", "sh", "-c", 'printf "Your name: "; sleep 60']);
	await slow.shows("Your name: ");
	slow.child.kill("SIGTERM");
	assert.equal((await slow.ended()).code, 128 + 15);
});

test("a program can open its masked outputs by their names", async () => {
	const { code, stdout, stderr } = await sh(
		'echo "1 $DATABASE_URL" > /dev/stdout; echo 2 | tee /dev/stderr > /dev/null',
	);
	assert.deepEqual([code, stdout, stderr], [0, `1 ${MASK}\n`, "2\n"]);
});

test("output is masked also where no temporary file can be made", async () => {
	const args = ["run", "--", "sh", "-c", 'echo "1 $DATABASE_URL"; echo 2 >&2; exit 3'];
	const { code, stdout, stderr } = await ada.run(args, { TMPDIR: "/proc/none" });
	assert.deepEqual([code, stdout, stderr], [3, `1 ${MASK}\n`, "2\n"]);
});

test("a program whose reader has left gets SIGPIPE, and what it leaves running does not hold svc up", async () => {
	const piped = ada.start(["run", "--", "sh", "-c", "yes; echo $? >&2; exit 3"]);
	await piped.shows("y\ny\n");
	piped.child.stdout?.destroy();
	assert.deepEqual(await piped.ended().then(({ code, stderr }) => [code, stderr]), [3, "141\n"]);
	const begun = performance.now();
	assert.equal((await sh("sleep 50 & echo left; exit 4")).code, 4);
	assert.ok(performance.now() - begun < 30_000);
});

test("what a .env.example names has to be there", async () => {
	const file = join(ada.home, ".env.example");
	await writeFile(file, "# needed\nDATABASE_URL=postgres://…\nHOME=\nAPI_KEY=\nPORT=80\n");
	const missing = await sh("echo started", "--require", file);
	assert.deepEqual([missing.code, missing.stdout], [125, ""]);
	assert.match(missing.stderr, /^svc: missing: API_KEY PORT\nhint: `svc secret set`/);
	await writeFile(file, "DATABASE_URL=\nHOME=\n");
	assert.equal((await sh("echo started", "--require", file)).stdout, "started\n");
	assert.equal((await sh("true", "--require", join(ada.home, "absent"))).code, 125);
});
