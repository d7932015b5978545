import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { PASSWORD } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let cli: Cli;

before(async () => {
	server = await startServer({ env: { SVC_REGISTRATION_MODE: "admin" } });
	cli = await createCli(server);
});
after(() => Promise.all([cli.close(), server.close()]));

/** The command that the latest start names. */
const named = () =>
	/^next, .*: +(?:npx )?svc (.*) --address/m.exec(
		server.stdout().slice(server.stdout().lastIndexOf("is listening")),
	)?.[1];

const init = (...more: string[]) => cli.run(["init", "ada@example.test", "--password-stdin", ...more], `${PASSWORD}\n`);

test("a new server is set up by one command, and by no second one", async () => {
	const file = join(server.data, "setup-code");
	assert.equal(named(), "init you@example.com");
	const refused = await init();
	assert.equal(refused.code, 3);
	assert.match(refused.stderr, /\bsetup code\b/);
	const done = await init("--setup-code-file", file, "--realm", "shop");
	assert.deepEqual([done.code, done.stderr], [0, ""]);
	assert.match(done.stdout, /^ada@example\.test .*\n.*\bshop\b/);
	const secret = await cli.run(["secret", "set", "KEY", "--realm", "shop", "--env", "dev"], "value");
	assert.equal(secret.code, 0, secret.stderr);
	assert.equal((await cli.run(["users", "list"])).code, 0);
	const again = await init();
	assert.equal(again.code, 1);
	assert.match(again.stderr, /`svc login`/);
});

test("a start names what truly works then: signing in once there is an account, registering where everybody may", async () => {
	for (const mode of ["closed", "admin", "open"]) {
		await server.restart({ SVC_REGISTRATION_MODE: mode });
		assert.equal(named(), "login", mode);
	}
	const other = await startServer();
	try {
		assert.match(other.stdout(), /: +(?:npx )?svc register you@example\.com --address/);
	} finally {
		await other.close();
	}
});
