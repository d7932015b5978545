/* `svc run --offline` and `--watch`: with the server running, changed, and down. */
import assert from "node:assert/strict";
import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { apiToken, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { freePort } from "../peers/free-port.ts";
import { type Person, startPerson } from "./run-world.ts";

let server: Server;
let client: Api;
let admin: Awaited<ReturnType<typeof person>>;
let ada: Person;
let slug: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	server = await startServer({ env: { SVC_LISTEN: `127.0.0.1:${await freePort()}` } });
	ends.defer(server.close);
	client = api(server);
	admin = await person(client, "ada");
	({ slug } = await realm(client, admin, "shop"));
	const { token } = await apiToken(client, admin, "read");
	ada = ends.use(await startPerson(server, token));
	Object.assign(ada.env, { SVC_REALM: slug });
	await set("kept-value-1");
});

const set = (value: string) => secret(client, admin, slug, "GREETING", value);
const PRINT = ["--no-masking", "--", "sh", "-c", 'echo "$GREETING"'];
const run = (...options: string[]) => ada.run(["run", ...options, ...PRINT]);
const folder = () => join(ada.home, ".local/state/svc/run");

test("a change starts the program again, once for changes that follow each other", async () => {
	const watching = ["run", "--watch", "--watch-interval", "1s", "--kill-after", "1s", "--no-cache", "--no-masking"];
	const deaf = "trap '' TERM; echo start $GREETING; while :; do sleep 1; done";
	const svc = ada.start([...watching, "--", "sh", "-c", deaf]);
	await svc.shows("start kept-value-1\n");
	await set("kept-value-2");
	await set("kept-value-1");
	await set("kept-value-3");
	await svc.shows("start kept-value-3\n");
	assert.doesNotMatch(svc.stdout(), /value-2/);
	assert.equal(svc.stdout().match(/^start/gm)?.length, 2);
	assert.match(svc.stderr(), /^svc: .*\brestarting\b/m);
	svc.child.kill("SIGTERM");
	svc.child.kill("SIGUSR1");
	assert.equal((await svc.ended()).code, 128 + 10, "the program gets it as ever");
	const own = await ada.run([...watching, "--", "sh", "-c", "exit 7"]);
	assert.equal(own.code, 7, "a program that ends by itself is not started again");
	assert.ok(!(await readdir(ada.home)).includes(".local"), "nothing was kept");
	await set("kept-value-1");
});

test("what is kept is sealed, and for its owner alone", async () => {
	assert.equal((await run()).stdout, "kept-value-1\n");
	const files = await readdir(folder());
	assert.equal(files.length, 2);
	assert.equal((await stat(folder())).mode & 0o777, 0o700);
	for (const file of files) {
		assert.equal((await stat(join(folder(), file))).mode & 0o777, 0o600);
		const text = await readFile(join(folder(), file), "utf8");
		assert.ok(!text.includes("kept") && !Buffer.from(text, "base64url").includes("kept"), file);
	}
});

test("while the server is away a watched program keeps running, and a new one is offered --offline", async () => {
	const svc = ada.start(["run", "--watch", "--watch-interval", "1s", "--", "sh", "-c", "echo ready; exec sleep 60"]);
	await svc.shows("ready");
	await server.stop();
	await eventually("svc reports the failure", () => /\bcontinues with\b/.test(svc.stderr()));
	const away = await run();
	assert.equal(away.code, 125);
	assert.match(away.stderr, /^svc: .*\nhint: --offline .* \d+[smh] ago\n$/);
	const offline = await run("--offline");
	assert.deepEqual([offline.code, offline.stdout], [0, "kept-value-1\n"]);
	assert.match(offline.stderr, new RegExp(`^offline: .* ${slug}/dev .*\\d+[smh] ago\n$`));
	assert.equal(svc.child.exitCode, null);
	await server.restart();
	await eventually("svc reports that the file is watched again", () => /watched again/.test(svc.stderr()));
	assert.equal(svc.stderr().match(/continues with/g)?.length, 1, "reported once");
	svc.child.kill("SIGTERM");
	assert.equal((await svc.ended()).code, 128 + 15);
});

test("what is kept is used only by who may, for what it is, and while it is young enough", async () => {
	const refused = async (reason: RegExp, options: string[], env: Record<string, string> = {}) => {
		const { code, stdout, stderr } = await ada.run(["run", "--offline", ...options, ...PRINT], env);
		assert.deepEqual([code, stdout], [125, ""], options.join(" "));
		assert.match(stderr, reason);
	};
	await refused(/^svc: no secrets of .*\/prod\b/, ["--env", "prod"]);
	await refused(/^svc: no secrets of other/, ["--realm", "other"]);
	await refused(/^svc: no secrets of/, [], { SVC_TOKEN: "svc_of_another" });
	await refused(/^svc: no secrets of/, [], { SVC_ADDRESS: "https://127.0.0.1:1" });
	await refused(/--max-age\b/, ["--max-age", "1"]);
	await refused(/--offline\b.*--lease\b|--lease\b.*--offline\b/, ["--lease", "keyvalue:readonly"]);
	await eventually(
		"it is too old",
		async () => (await ada.run(["run", "--offline", "--max-age", "1s", ...PRINT])).code === 125,
	);
	await refused(/^svc: .* \d+s old\b.*--max-age\b/, ["--max-age", "1s"]);
});

test("what was altered is refused, and others' eyes on it too", async () => {
	const path = join(folder(), (await readdir(folder())).find((name) => name.endsWith(".sealed")) ?? "");
	const sealed = await readFile(path, "utf8");
	const refused = async (reason: RegExp) => {
		const { code, stdout, stderr } = await run("--offline");
		assert.deepEqual([code, stdout], [125, ""]);
		assert.match(stderr, reason);
	};
	for (const at of [3, 50, 70, sealed.length - 3]) {
		const bit = sealed[at] === "A" ? "B" : "A";
		await writeFile(path, sealed.slice(0, at) + bit + sealed.slice(at + 1));
		await refused(/\baltered\nhint: .*--offline\b/);
	}
	await writeFile(path, "");
	await refused(/altered/);
	await writeFile(path, sealed);
	await chmod(path, 0o640);
	await refused(/\bother users\b/);
	await chmod(path, 0o600);
	assert.equal((await run("--offline")).stdout, "kept-value-1\n");
	const key = join(folder(), "key");
	await writeFile(key, Buffer.alloc(32).toString("base64url"));
	await refused(/altered/);
	assert.equal((await run()).code, 0, "the next reading keeps them anew");
	assert.equal((await run("--offline")).stdout, "kept-value-1\n");
});
