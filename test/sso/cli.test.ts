/* `svc sso`, `svc login --sso`, `svc login --ldap` and `svc account link` as people run them: processes, against the real server and real providers. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cli, createCli, type Hearer, type Outcome } from "../harness/cli.ts";
import { apiToken } from "../harness/fixtures.ts";
import { type OidcProvider, startOidcProvider } from "../peers/oidc.ts";
import { createBrowser } from "../peers/oidc-browser.ts";
import { PEOPLE as DIRECTORY, person as entry, type Slapd, skipWithoutSlapd, startSlapd } from "../peers/slapd.ts";
import { type OidcWorld, startOidcWorld } from "./oidc-world.ts";

const PEOPLE = {
	ada: { email: "ada@example.com", email_verified: true, name: "Ada Lovelace" },
	grace: { email: "grace@example.com", email_verified: true, name: "Grace Hopper" },
};
const LDAP_PASSWORD = "a password of the directory";
const WAITING = /^(https:\S+cli_port=(\d+)\S+)\n/m;
const options = { skip: skipWithoutSlapd };

let world: OidcWorld;
let provider: OidcProvider;
let slapd: Slapd;
let admin: Cli;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	const started = await startOidcWorld();
	ends.defer(started.close);
	world = started;
	provider = await startOidcProvider({ redirect_uris: [world.redirectUri("corp")], people: PEOPLE });
	ends.defer(provider.stop);
	admin = await createCli(world.server, world.root);
	ends.defer(admin.close);
	if (skipWithoutSlapd !== false) return;
	slapd = await startSlapd({ entries: entry("edsger", LDAP_PASSWORD) });
	ends.defer(slapd.stop);
});

/** Runs a command that must end with this code. */
async function svc(cli: Cli, code: number, line: string, stdin?: string, heard?: Hearer): Promise<Outcome> {
	const outcome = await cli.run(line.split(" "), stdin, heard);
	assert.equal(outcome.code, code, `svc ${line}: ${outcome.stdout}${outcome.stderr}`);
	return outcome;
}

/** Makes a person at their own machine, with a new browser for each login, and the last page in that browser. @param url by which their svc knows the server */
async function newcomer(url = world.server.url) {
	const cli = await createCli({ url, ca: world.server.ca });
	ends.defer(cli.close);
	const shown: Promise<string>[] = [];
	const heard: Hearer = (stderr) => {
		const [, address] = WAITING.exec(stderr) ?? [];
		if (address !== undefined && shown.length === 0) shown.push(visit(address));
	};
	const signIn = async (code: number, line: string, stdin = "") => {
		shown.length = 0;
		const outcome = await svc(cli, code, line, stdin, heard);
		assert.match((await shown[0]) ?? "", /\bterminal\b/);
		return outcome;
	};
	return { cli, signIn };
}

async function visit(address: string): Promise<string> {
	const browser = createBrowser(world.server.ca + provider.ca_cert);
	const back = await browser.follow(address, "http://127.0.0.1:");
	return (await fetch(back)).text();
}

async function whoami(cli: Cli): Promise<{ id: string; email: string }> {
	return JSON.parse((await svc(cli, 0, "whoami --json")).stdout).user;
}

const SET_CORP = "sso set corp --type oidc --display-name Corp --set client_id=svc --secret client_secret";

test("an administrator sets a provider up, looks at it and tries it out", async () => {
	const cacert = join(admin.home, "provider.pem");
	await writeFile(cacert, provider.ca_cert);
	const flags = `--set issuer=${provider.issuer} --set-file ca_cert=${cacert}`;
	const set = await svc(admin, 0, `${SET_CORP} ${flags}`, `${provider.client_secret}\n`);
	assert.match(set.stdout, /^client_secret +\*{8}$/m);
	assert.ok(!set.stdout.includes(provider.client_secret));
	assert.equal((await svc(admin, 0, "sso list")).stdout, "NAME  TYPE  DISPLAY NAME\ncorp  oidc  Corp\n");
	assert.equal((await svc(admin, 0, "sso test corp")).stdout, "healthy\n");
	const shown = (await svc(admin, 0, "sso show corp --json")).stdout;
	const file = join(admin.home, "corp.json");
	await writeFile(file, shown);
	const again = await svc(admin, 0, `sso set corp --from ${file} --set groups_claim=groups`);
	assert.match(again.stdout, /^groups_claim +groups$/m);
	assert.equal((await svc(admin, 0, "sso test corp")).stdout, "healthy\n", "the secret was kept");
	const broken = `sso set gone --from ${file} --set issuer=https://127.0.0.1:1 --secret client_secret`;
	assert.match((await svc(admin, 1, broken, "other\n")).stderr, /\nhint: .*--force/);
	await svc(admin, 4, "sso show gone");
	await svc(admin, 0, `${broken} --force`, "other\n");
	const gone = await svc(admin, 1, "sso test gone");
	assert.equal(gone.stdout, "unhealthy\n");
	assert.match(gone.stderr, /^svc: \S.*\nhint: `svc sso show`/);
	await svc(admin, 0, "sso remove gone --yes");
	const kept = (await svc(admin, 0, "sso show corp --json")).stdout;
	const worse = `sso set corp --from ${file} --set issuer=https://127.0.0.1:1 --secret client_secret`;
	assert.match((await svc(admin, 1, worse, "other\n")).stderr, /\nhint: .*--force/);
	assert.equal((await svc(admin, 0, "sso show corp --json")).stdout, kept);
	assert.equal((await svc(admin, 0, "sso test corp")).stdout, "healthy\n", "the former one goes on");
	assert.match((await svc(admin, 4, "sso show gone")).stderr, /^svc: provider gone\b/);
	assert.match((await svc(admin, 1, `sso set gone --type oidc --from ${file}`)).stderr, /^svc: \S/);
});

test("somebody signs in with a browser, and the same person again is the same account", async () => {
	provider.person = "ada";
	const { cli, signIn } = await newcomer();
	const { stdout } = await signIn(0, "login --sso corp");
	assert.ok(stdout.includes(world.server.url) && stdout.includes("ada@example.com"), stdout);
	const first = await whoami(cli);
	await svc(cli, 0, "realm create ada");
	await svc(cli, 0, "logout");
	await signIn(0, "login --sso corp --json");
	assert.deepEqual(await whoami(cli), first);
	assert.match((await svc(cli, 0, "realm list")).stdout, /^ada /m);
	assert.match((await svc(cli, 3, "sso show corp")).stderr, /^svc: \S/, "who signs in administers nothing");
});

test("somebody whose svc knows the server by its IP address signs in with a browser, too", async () => {
	provider.person = "ada";
	const { port } = new URL(world.server.url);
	const { cli, signIn } = await newcomer(`https://127.0.0.1:${port}`);
	await signIn(0, "login --sso corp");
	assert.equal((await whoami(cli)).email, "ada@example.com");
});

test("a person whose e-mail has an account is asked to link it, does, and signs in to it from then on", async () => {
	provider.person = "grace";
	const { email } = PEOPLE.grace;
	const { cli, signIn } = await newcomer();
	const password = "correct horse battery";
	await svc(cli, 0, `register ${email} --name grace --password-stdin`, `${password}\n`);
	const refused = await signIn(1, "login --sso corp");
	const [, command = ""] = /`svc (account link corp)`/.exec(refused.stderr) ?? [];
	await svc(cli, 3, command);
	await svc(cli, 0, `login ${email} --password-stdin`, `${password}\n`);
	const account = await whoami(cli);
	const given = `${command} --password-stdin`;
	assert.match((await signIn(2, given, `${password}\n`)).stderr, /grace@.*--yes/s, "nobody can be asked");
	await signIn(0, `${given} --yes`, `${password}\n`);
	const [, id = ""] = /^(\S+) +corp /m.exec((await svc(cli, 0, "account identities")).stdout) ?? [];
	const unlink = `account unlink ${id} --password-stdin`;
	assert.match((await svc(cli, 3, unlink, "a wrong password\n")).stderr, /current_password/);
	await svc(cli, 0, "logout");
	await signIn(0, "login --sso corp");
	assert.deepEqual(await whoami(cli), account, "the account stays as it was");
});

test("an API token links nobody, which is said before anybody signs in", async () => {
	const { token } = await apiToken(world.client, world.root, "write");
	const cli = await createCli(world.server, { ...world.root, token });
	ends.defer(cli.close);
	assert.match((await svc(cli, 1, "account link corp")).stderr, /\nhint: .*unset SVC_TOKEN/);
});

test("a login that is interrupted waits no longer", async () => {
	const { cli } = await newcomer();
	let port = "";
	let process: ChildProcess | undefined;
	const { stdout } = await cli.run(["login", "--sso", "corp"], "", (stderr, child) => {
		process = child;
		port = WAITING.exec(stderr)?.[2] ?? "";
		if (port !== "") child.kill("SIGINT");
	});
	assert.deepEqual([process?.signalCode, stdout], ["SIGINT", ""]);
	await assert.rejects(fetch(`http://127.0.0.1:${port}/`), TypeError);
	await svc(cli, 3, "whoami");
});

test("a directory is set up, and its people sign in and link with their password", options, async () => {
	const { ldaps_url, bind_dn, bind_password, ca } = slapd;
	const config = { url: ldaps_url, user_base_dn: DIRECTORY, bind_dn, bind_password, ca_cert: ca };
	await svc(admin, 0, "sso set directory --type ldap --from -", JSON.stringify(config));
	assert.equal((await svc(admin, 0, "sso test directory")).stdout, "healthy\n");
	const { cli } = await newcomer();
	const password = "correct horse battery";
	await svc(cli, 0, "register edsger@example.com --password-stdin", `${password}\n`);
	const login = "login --ldap directory edsger --password-stdin";
	const refused = await svc(cli, 1, login, `${LDAP_PASSWORD}\n`);
	assert.match(refused.stderr, /`svc account link directory`/);
	const wrong = await svc(cli, 3, login, "wrong\n");
	assert.match(wrong.stderr, /^svc: [^\n]+\n$/);
	await svc(cli, 0, "login edsger@example.com --password-stdin", `${password}\n`);
	const account = await whoami(cli);
	const link = "account link directory edsger --password-stdin";
	assert.equal((await svc(cli, 3, link, `wrong\n${password}\n`)).stderr, wrong.stderr);
	await svc(cli, 0, link, `${LDAP_PASSWORD}\n${password}\n`);
	await svc(cli, 0, login, `${LDAP_PASSWORD}\n`);
	assert.deepEqual(await whoami(cli), account);
	assert.match((await svc(cli, 2, "login --sso directory")).stderr, /`svc login --ldap`/);
});
