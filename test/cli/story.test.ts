/* A team of two moves in and lives with svc, through its commands alone: each test is a step and needs the ones before it. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Server, startServer } from "../harness.ts";
import { freePort } from "../peers/free-port.ts";
import { type Issuer, startIssuer } from "../peers/issuer.ts";

const ADA = "ada@example.test";
const BOB = "bob@example.test";
const PASSWORD = "correct horse battery staple";
const NEW_PASSWORD = "a password that was set anew";
const DB_URL = "postgres://shop:hunter2@db.internal/shop";
const DOPPLER = { DB_URL, API_KEY: "007", DOPPLER_CONFIG: "prd", DOPPLER_ENVIRONMENT: "prd", DOPPLER_PROJECT: "shop" };

let server: Server;
let github: Issuer;
let ada: Cli;
let bob: Cli;
const others: Cli[] = [];

before(async () => {
	github = await startIssuer();
	// A port of its own: the team's address stays the same when the server starts again.
	const env = { SVC_LISTEN: `127.0.0.1:${await freePort()}`, SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1" };
	server = await startServer({ env: { ...env, SVC_REGISTRATION_MODE: "closed" } });
	ada = await createCli(server);
	bob = await createCli(server);
});
after(async () => {
	for (const cli of [ada, bob, ...others]) await cli.close();
	await server.close();
	await github.stop();
});

/** Runs a command that must end with this code. @returns what it wrote to stdout */
async function svc(who: Cli, line: string, stdin = "", code = 0): Promise<string> {
	const outcome = await who.run(line.split(" "), stdin);
	assert.equal(outcome.code, code, `svc ${line}: ${outcome.stdout}${outcome.stderr}`);
	return outcome.stdout;
}

/** A job that has nothing but what its platform gives it. */
async function job(): Promise<Cli> {
	const env = { SVC_MACHINE: "shop/deploy", ...github.job_environment, NODE_EXTRA_CA_CERTS: await authority() };
	const cli = await createCli(server, undefined, env);
	others.push(cli);
	return cli;
}

async function authority(): Promise<string> {
	const file = join(ada.home, "github.pem");
	await writeFile(file, github.ca_cert);
	return file;
}

const IN_PROD = "--realm shop --env prod";
const getDbUrl = async (who: Cli) => (await svc(who, `get DB_URL ${IN_PROD}`)).trim();

test("Ada sets the server up and moves the secrets of a Doppler export in", async () => {
	const setup = `--setup-code-file ${join(server.data, "setup-code")}`;
	await svc(ada, `init ${ADA} --password-stdin --realm shop ${setup}`, `${PASSWORD}\n`);
	const line = `import - --from doppler ${IN_PROD}`;
	assert.match(await svc(ada, `${line} --dry-run`, JSON.stringify(DOPPLER)), /add +DB_URL/);
	assert.doesNotMatch(await svc(ada, `ls ${IN_PROD}`), /DB_URL/);
	await svc(ada, line, JSON.stringify(DOPPLER));
	assert.equal(await getDbUrl(ada), DB_URL);
	assert.equal((await svc(ada, `get API_KEY ${IN_PROD}`)).trim(), "007");
	assert.doesNotMatch(await svc(ada, `ls ${IN_PROD}`), /DOPPLER/);
});

test("Ada invites Bob, who registers with her code and reads the realm", async () => {
	await svc(bob, `register ${BOB} --password-stdin`, `${PASSWORD}\n`, 3);
	const code = await svc(ada, `invite ${BOB} --realm shop --role member`);
	await svc(bob, `register ${BOB} --invite - --password-stdin`, `${code}${PASSWORD}\n`);
	await svc(bob, `login ${BOB} --password-stdin`, `${PASSWORD}\n`);
	assert.equal(await getDbUrl(bob), DB_URL);
	assert.equal(JSON.parse(await svc(ada, "invitation list --json")).invitations.length, 0);
});

test("Bob invites Ada into a realm of his own: she has an account, so her e-mail is enough", async () => {
	await svc(bob, "realm create blog");
	await svc(ada, "ls --realm blog --env prod", "", 4);
	await svc(bob, `binding add ${ADA} member --realm blog`);
	await svc(ada, "set KEY --realm blog --env prod", "of Ada's");
	assert.equal((await svc(bob, "get KEY --realm blog --env prod")).trim(), "of Ada's");
});

test("a job of GitHub deploys without a stored token, and nothing but that job", async () => {
	await svc(ada, "machine create deploy --realm shop --env prod");
	const repository = "--repository-id 2002 --repository-owner-id 1001 --branch main";
	const issuer = `--issuer ${github.issuer} --ca-cert ${await authority()}`;
	await svc(ada, `machine trust add github deploy --realm shop ${repository} ${issuer}`);
	const deploy = await job();
	const script = "console.log(process.env.DB_URL.length)";
	const ran = await deploy.run(["run", ...IN_PROD.split(" "), "--", process.execPath, "-e", script]);
	assert.equal(ran.stdout, `${DB_URL.length}\n`, ran.stderr);
	await svc(deploy, `set DB_URL ${IN_PROD}`, "something else", 3);
	github.job = { ref: "refs/heads/of-somebody" };
	await svc(await job(), `get DB_URL ${IN_PROD}`, "", 3);
	github.job = {};
});

test("a secret that Bob deletes by mistake is back with one command", async () => {
	await svc(bob, `secret delete DB_URL ${IN_PROD} --yes`, "", 3);
	assert.equal(await getDbUrl(bob), DB_URL);
	await svc(ada, `binding set ${BOB} admin --realm shop`);
	await svc(bob, `secret delete DB_URL ${IN_PROD} --yes`);
	await svc(bob, `get DB_URL ${IN_PROD}`, "", 4);
	assert.match(await svc(bob, `secret list --deleted ${IN_PROD}`), /DB_URL/);
	await svc(bob, `secret restore DB_URL ${IN_PROD}`);
	assert.equal(await getDbUrl(bob), DB_URL);
});

test("Bob forgets his password and comes back with a code of Ada's", async () => {
	const code = await svc(ada, `users reset ${BOB}`);
	await svc(bob, `reset ${BOB} --password-stdin`, `${code}${NEW_PASSWORD}\n`);
	await svc(bob, `login ${BOB} --password-stdin`, `${PASSWORD}\n`, 3);
	await svc(bob, `login ${BOB} --password-stdin`, `${NEW_PASSWORD}\n`);
	assert.equal(await getDbUrl(bob), DB_URL);
});

test("Ada, the only instance admin, forgets hers: the server's machine gives her the code", async () => {
	await svc(bob, `users reset ${ADA}`, "", 3);
	const recover = () => runLocal(server.data, ["recover", ADA, "--yes"]);
	assert.notEqual((await recover()).code, 0, "the server still runs");
	await server.stop();
	const { code, stdout, stderr } = await recover();
	assert.equal(code, 0, stderr);
	await server.restart();
	await svc(ada, `reset ${ADA} --password-stdin`, `${stdout}${NEW_PASSWORD}\n`);
	await svc(ada, "users list", "", 3);
	await svc(ada, `login ${ADA} --password-stdin`, `${PASSWORD}\n`, 3);
	await svc(ada, `login ${ADA} --password-stdin`, `${NEW_PASSWORD}\n`);
	assert.match(await svc(ada, "users list"), new RegExp(`${ADA} .*administrator`));
	assert.match(await svc(ada, "audit --type user.recovered --json"), /user\.recovered/);
	assert.equal(await getDbUrl(bob), DB_URL);
});

/** The events that answer who read a key this week. */
async function readsOf(key: string, more = ""): Promise<{ type: string; actor: string }[]> {
	return JSON.parse(await svc(ada, `audit --realm shop --key ${key} --since 7d --all --json${more}`)).events;
}

test("one command tells who read DB_URL this week, also together with other secrets, and also the job", async () => {
	const before = (await readsOf("DB_URL")).length;
	await svc(bob, `run ${IN_PROD} -- ${process.execPath} --version`);
	const after = await readsOf("DB_URL");
	assert.equal(after.length, before + 1);
	assert.equal(after[0]?.type, "secret.list");
	const { user } = JSON.parse(await svc(bob, "whoami --json"));
	assert.equal(after[0]?.actor, user.id);
	assert.deepEqual((await readsOf("DB_URL", ` --actor ${BOB} --type secret.list`))[0], after[0]);
	assert.deepEqual((await readsOf("API_KEY"))[0], after[0]);
	assert.match(await svc(ada, "audit --realm shop --key DB_URL --limit 1"), new RegExp(` secret\\.list +${BOB} `));
	assert.deepEqual(await readsOf("NO_SUCH_KEY"), []);
	assert.equal((await readsOf("DB_URL", " --machine deploy")).length, 1);
});

test("Ada leaves: she hands over the server and her realm, and what she made for others is listed", async () => {
	await svc(ada, `users admin ${ADA} --remove --yes`, "", 1);
	await svc(ada, `users admin ${BOB} --yes`);
	await svc(ada, `realm transfer shop --to ${BOB} --yes`);
	await svc(bob, `users admin ${ADA} --remove --yes`);
	await svc(ada, "users list", "", 3);
	await svc(bob, `users disable ${ADA} --yes`);
	await svc(ada, "realm list", "", 3);
	const revoked = await bob.run(["revoke", "--user", ADA, "--yes"]);
	assert.equal(revoked.code, 0, revoked.stderr);
	assert.match(revoked.stderr, /--with-made\b.*\n.*machine shop\/deploy/);
	assert.equal(await getDbUrl(await job()), DB_URL, "the job still deploys");
	await svc(bob, `revoke --user ${ADA} --with-made --yes`);
	await svc(await job(), `get DB_URL ${IN_PROD}`, "", 3);
	assert.equal(await getDbUrl(bob), DB_URL);
	const { user } = JSON.parse(await svc(bob, "whoami --json"));
	assert.equal(JSON.parse(await svc(bob, "realm show shop --json")).user_id, user.id);
	assert.equal(JSON.parse(await svc(bob, "audit verify --json")).status, "intact");
});
