/* A team of two moves in and lives with svc, through its commands alone: each test is a step and needs the ones before it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Server, startServer } from "../harness.ts";

const ADA = "ada@example.test";
const BOB = "bob@example.test";
const PASSWORD = "correct horse battery staple";
const NEW_PASSWORD = "a password that was set anew";
const DB_URL = "postgres://shop:hunter2@db.internal/shop";
const DOPPLER = { DB_URL, API_KEY: "007", DOPPLER_CONFIG: "prd", DOPPLER_ENVIRONMENT: "prd", DOPPLER_PROJECT: "shop" };

let server: Server;
let ada: Cli;
let bob: Cli;

before(async () => {
	server = await startServer();
	ada = await createCli(server);
	bob = await createCli(server);
});
after(async () => {
	await ada.close();
	await bob.close();
	await server.close();
});

/** Runs a command that must end with this code. @returns what it wrote to stdout */
async function svc(who: Cli, line: string, stdin = "", code = 0): Promise<string> {
	const outcome = await who.run(line.split(" "), stdin);
	assert.equal(outcome.code, code, `svc ${line}: ${outcome.stdout}${outcome.stderr}`);
	return outcome.stdout;
}

const getDbUrl = (who: Cli) => svc(who, "get DB_URL --realm shop --env prod");

test("Ada sets the server up and moves the secrets of a Doppler export in", async () => {
	await svc(ada, `init ${ADA} --password-stdin --realm shop`, `${PASSWORD}\n`);
	const line = "import - --from doppler --realm shop --env prod";
	assert.match(await svc(ada, `${line} --dry-run`, JSON.stringify(DOPPLER)), /add +DB_URL/);
	assert.doesNotMatch(await svc(ada, "ls --realm shop --env prod"), /DB_URL/);
	await svc(ada, line, JSON.stringify(DOPPLER));
	assert.equal((await getDbUrl(ada)).trim(), DB_URL);
	assert.equal((await svc(ada, "get API_KEY --realm shop --env prod")).trim(), "007");
	assert.doesNotMatch(await svc(ada, "ls --realm shop --env prod"), /DOPPLER/);
});

test("Bob joins, and reaches the realm once Ada gives him a role by e-mail", async () => {
	await svc(bob, `register ${BOB} --password-stdin`, `${PASSWORD}\n`);
	await svc(bob, `login ${BOB} --password-stdin`, `${PASSWORD}\n`);
	await svc(bob, "get DB_URL --realm shop --env prod", "", 4);
	await svc(ada, `binding add ${BOB} member --realm shop`);
	assert.equal((await getDbUrl(bob)).trim(), DB_URL);
});

test("a secret that Bob deletes by mistake is back with one command", async () => {
	await svc(bob, "secret delete DB_URL --realm shop --env prod --yes", "", 3);
	assert.equal((await getDbUrl(bob)).trim(), DB_URL);
	await svc(ada, `binding set ${BOB} admin --realm shop`);
	await svc(bob, "secret delete DB_URL --realm shop --env prod --yes");
	await svc(bob, "get DB_URL --realm shop --env prod", "", 4);
	assert.match(await svc(bob, "secret list --deleted --realm shop --env prod"), /DB_URL/);
	await svc(bob, "secret restore DB_URL --realm shop --env prod");
	assert.equal((await getDbUrl(bob)).trim(), DB_URL);
});

test("one command tells who read DB_URL this week, also together with other secrets", async () => {
	const readsOf = async (key: string, more = "") => {
		const { events } = JSON.parse(await svc(ada, `audit --realm shop --key ${key} --since 7d --all --json${more}`));
		return events as { type: string; actor: string }[];
	};
	const before = (await readsOf("DB_URL")).length;
	await svc(bob, `run --realm shop --env prod -- ${process.execPath} --version`);
	const after = await readsOf("DB_URL");
	assert.equal(after.length, before + 1);
	assert.equal(after[0]?.type, "secret.list");
	const { user } = JSON.parse(await svc(bob, "whoami --json"));
	assert.equal(after[0]?.actor, user.id);
	assert.deepEqual((await readsOf("DB_URL", ` --actor ${BOB} --type secret.list`))[0], after[0]);
	assert.deepEqual((await readsOf("API_KEY"))[0], after[0]);
	assert.deepEqual(await readsOf("NO_SUCH_KEY"), []);
});

test("Bob forgets his password and comes back with a code of Ada's", async () => {
	const code = await svc(ada, `users reset ${BOB}`);
	await svc(bob, `reset ${BOB} --password-stdin`, `${code}${NEW_PASSWORD}\n`);
	await svc(bob, `login ${BOB} --password-stdin`, `${PASSWORD}\n`, 3);
	await svc(bob, `login ${BOB} --password-stdin`, `${NEW_PASSWORD}\n`);
	assert.equal((await getDbUrl(bob)).trim(), DB_URL);
});

test("Ada leaves: she cannot go as the last admin, so Bob becomes one and ends what she has", async () => {
	await svc(ada, `users admin ${ADA} --remove --yes`, "", 1);
	await svc(ada, `users admin ${BOB} --yes`);
	await svc(bob, `users admin ${ADA} --remove --yes`);
	await svc(ada, "users list", "", 3);
	await svc(bob, `users disable ${ADA} --yes`);
	await svc(bob, `revoke --user ${ADA} --yes`);
	await svc(ada, "realm list", "", 3);
	assert.equal((await getDbUrl(bob)).trim(), DB_URL);
	assert.equal(JSON.parse(await svc(bob, "audit verify --json")).status, "intact");
});
