/* `svc` in the foreground of a terminal. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { person, realm, secret } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";
import { type Person, skipWithoutTerminal, startPerson } from "./run-world.ts";

const options = { skip: skipWithoutTerminal };

let ada: Person;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutTerminal !== false) return;
	const server = await startServer();
	ends.defer(server.close);
	const client = api(server);
	const admin = await person(client, "ada");
	const { slug } = await realm(client, admin, "shop");
	await secret(client, admin, slug, "GREETING", "hello-from-a-secret");
	ada = ends.use(await startPerson(server, admin.token));
	Object.assign(ada.env, { SVC_REALM: slug });
});

const COUNT = `
	let seen = 0;
	process.on("SIGINT", () => console.log("seen", ++seen));
	process.on("SIGTERM", () => process.exit(seen));
	setInterval(() => {}, 1000);
	console.log("ready", process.stdout.isTTY === true, process.ppid);`;

test("Ctrl-C reaches the program once, and kill as ever", options, async () => {
	for (const [more, isTTY] of [
		[["--no-masking"], "true"],
		[[], "false"],
	] as const) {
		const terminal = ada.startOnTerminal(["run", ...more, "--", "node", "-e", COUNT]);
		const [, tty, svc] = await terminal.shows(/ready (\w+) (\d+)/);
		assert.equal(tty, isTTY, "the program has the terminal itself unless its output is masked");
		terminal.child.stdin?.write("\x03");
		await terminal.shows("seen 1");
		terminal.child.stdin?.write("\x03");
		await terminal.shows("seen 2");
		process.kill(Number(svc), "SIGTERM");
		assert.equal((await terminal.ended()).code, 2);
	}
});

test("Ctrl-\\ ends the program, and svc with its signal's code", options, async () => {
	const terminal = ada.startOnTerminal([
		"run",
		"--no-masking",
		"--",
		"sh",
		"-c",
		"ulimit -c 0; echo ready; exec sleep 60",
	]);
	await terminal.shows("ready");
	terminal.child.stdin?.write("\x1c");
	assert.equal((await terminal.ended()).code, 128 + 3);
});

test("a terminal that goes away takes the program along", options, async () => {
	const terminal = ada.startOnTerminal([
		"run",
		"--",
		"sh",
		"-c",
		"trap 'exit 5' HUP; echo ready $$; while :; do sleep 1; done",
	]);
	const [, pid] = await terminal.shows(/ready (\d+)/);
	terminal.child.kill("SIGKILL");
	await terminal.ended();
	const isGone = () => {
		try {
			return !process.kill(Number(pid), 0);
		} catch {
			return true;
		}
	};
	await eventually("the program has ended", isGone);
});

test(
	"a list that is longer than the terminal goes through the pager, which learns no token; a shorter one does not",
	options,
	async () => {
		Object.assign(ada.env, { PAGER: "env" });
		const list = async (rows: number) => {
			const terminal = ada.startOnTerminal(["secret", "list"], { rows, columns: 60 });
			const { code, stdout } = await terminal.ended();
			assert.equal(code, 0);
			assert.match(stdout, /GREETING +dev +1 +\w+/);
			return stdout;
		};
		await list(24);
		const { stdout } = await ada.startOnTerminal(["secret", "list"], { rows: 2, columns: 60 }).ended();
		assert.match(stdout, /^PAGER=env\r$/m);
		assert.doesNotMatch(stdout, /SVC_TOKEN|GREETING/);
		Object.assign(ada.env, { PAGER: "no-such-pager" });
		await list(2);
	},
);
