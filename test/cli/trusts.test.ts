/* Workloads without a stored token: the real client against the real server, with JWTs of a real issuer. Design: §15 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { fewAtOnce, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { type ForgedJwt, forgedJwts, PUBLISHED_KEYS } from "../peers/forged-jwts.ts";
import { gitlabClaims, type Issuer, startIssuer } from "../peers/issuer.ts";

const VALUE = "canary-of-the-value";

let server: Server;
let client: Api;
let issuer: Issuer;
let ada: Person;
let asAda: Cli;
let slug: string;
let authority: string;
const clis: Cli[] = [];

before(async () => {
	server = await startServer({ env: { SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1" } });
	issuer = await startIssuer();
	client = api(server);
	ada = await person(client, "ada");
	slug = (await realm(client, ada)).slug;
	await secret(client, ada, slug, "DB_URL", VALUE, { environment: "prod" });
	asAda = await as({ SVC_TOKEN: ada.token });
	authority = join(asAda.home, "issuer.pem");
	await writeFile(authority, issuer.ca_cert);
	await did(asAda, "machine create deploy --env prod");
});
after(async () => {
	for (const cli of clis) await cli.close();
	await server.close();
	await issuer.stop();
});

async function as(env: Record<string, string>): Promise<Cli> {
	const cli = await createCli(server, undefined, env);
	clis.push(cli);
	return cli;
}

/** Runs a command that must succeed, and returns its standard output. */
async function did(cli: Cli, words: string): Promise<string> {
	const { code, stdout, stderr } = await cli.run([...words.split(" "), "--realm", slug]);
	assert.equal(code, 0, stderr);
	return stdout;
}

const trust = (words: string) => did(asAda, `machine trust ${words}`);
const ofIssuer = (audience = "") => `--issuer ${issuer.issuer} --ca-cert ${authority}${audience}`;
const read = (cli: Cli) => did(cli, "secret get DB_URL --env prod");
/** Tells whether the client sends it: it must be a JWT in form, and fit into a variable. The times of rows 23 and 24 pass while commands run. */
const isSent = ({ row, token, answer }: ForgedJwt) =>
	![23, 24].includes(row) && answer !== "accepted" && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) && token.length < 16_384;
const machine = () => ({ SVC_MACHINE: `${slug}/deploy` });

test("a GitHub Actions job reads a secret with GitHub's own variables until the trust is removed", async () => {
	const ids = "--repository-id 2002 --repository-owner-id 1001 --branch main";
	const made = await trust(`add github deploy ${ids} ${ofIssuer()}`);
	assert.match(made, / https:\/\/localhost:\d+ .*\brepository_id="2002" .*event_name=push/);
	const job = { ...machine(), ...issuer.job_environment, NODE_EXTRA_CA_CERTS: authority };
	const [first, second] = [await as(job), await as(job)];
	assert.equal((await read(first)).trim(), VALUE);
	const asked = issuer.asked.filter((path) => path === "/job").length;
	assert.equal((await read(first)).trim(), VALUE);
	assert.equal(issuer.asked.filter((path) => path === "/job").length, asked, "the job's token is kept");
	assert.match(await trust("list deploy"), /^github +github +https:\/\/127/m);
	assert.match(await trust("show deploy github"), / once$/m);
	await trust("remove deploy github --yes");
	const { code, stderr } = await second.run(["secret", "get", "DB_URL", "--realm", slug, "--env", "prod"]);
	assert.equal(code, 3, stderr);
	assert.match(stderr, /^svc: .*\/deploy\b/);
});

test("every command of a GitLab job reads with the JWT in its variable", async () => {
	await trust(`add gitlab deploy --project-id 22 --branch main ${ofIssuer()}`);
	const jwt = issuer.mint(gitlabClaims(issuer.issuer, server.url, Math.floor(Date.now() / 1000)));
	for (let count = 0; count < 2; count++) {
		const job = await as({ ...machine(), SVC_ID_TOKEN: jwt });
		assert.equal((await read(job)).trim(), VALUE);
	}
});

test("a pod reads with its projected token and given keys, and svc login names the machine", async () => {
	const keys = join(asAda.home, "keys.json");
	await writeFile(keys, JSON.stringify({ keys: issuer.keys.map(({ jwk }) => jwk) }));
	const account = "--service-account-uid uid-1 --namespace shop --issuer https://kubernetes.default.svc";
	await trust(`add kubernetes deploy ${account} --keys ${keys} --audience svc-shop`);
	const now_s = Math.floor(Date.now() / 1000);
	const claims = (uid: string) => ({
		...{ iss: "https://kubernetes.default.svc", aud: ["svc-shop"], sub: "system:serviceaccount:shop:deploy" },
		...{ iat: now_s, nbf: now_s, exp: now_s + 600, jti: "a" },
		"kubernetes.io": { namespace: "shop", serviceaccount: { name: "deploy", uid } },
	});
	const file = join(asAda.home, "token");
	const pod = { ...machine(), SVC_JWT_FILE: file, SVC_AUDIENCE: "svc-shop" };
	await writeFile(file, issuer.mint(claims("uid-1")), { mode: 0o600 });
	assert.equal((await read(await as(pod))).trim(), VALUE);
	const login = await as({ SVC_JWT_FILE: file, SVC_AUDIENCE: "svc-shop" });
	const { code, stderr, stdout } = await login.run(["login", "--machine", `${slug}/deploy`]);
	assert.equal(code, 0, stderr);
	assert.match(stdout + stderr, new RegExp(`${slug}/deploy`));
	await writeFile(file, issuer.mint(claims("uid-2")), { mode: 0o600 });
	const other = await (await as(pod)).run(["secret", "get", "DB_URL", "--realm", slug, "--env", "prod"]);
	assert.equal(other.code, 3, "the account was made again under its name");
});

test("each kind of forged JWT ends a command with the same code and message", async () => {
	await did(asAda, "machine create forged --env prod");
	// The server asks an issuer once in 30 s, so the keys are given here.
	const good = PUBLISHED_KEYS.filter(({ kid }) => ["rsa", "es", "bare"].includes(String(kid)));
	const known = join(asAda.home, "published.json");
	await writeFile(known, JSON.stringify({ keys: good }));
	const named =
		'--claim repository_id="2002" --claim repository_owner_id="1001" --claim ref=refs/heads/main --claim event_name=push';
	await trust(`add oidc forged ${named} --issuer ${issuer.issuer} --keys ${known} --audience svc-shop`);
	const now_s = Math.floor(Date.now() / 1000);
	const forged = forgedJwts({ issuer: issuer.issuer, audience: "svc-shop", now_s });
	// The first word of the server's reason: test/hostile/forged-jwts.test.ts sends all.
	const ofEachKind = new Map(forged.filter(isSent).map((jwt) => [jwt.answer.split(" ")[0], jwt]));
	assert.ok(ofEachKind.size > 6, `${ofEachKind.size}`);
	const said = new Set<string>();
	// No refusal is answered within 250 ms: they wait together.
	await fewAtOnce([...ofEachKind.values()], async ({ what, token, answer }) => {
		const job = await as({ SVC_MACHINE: `${slug}/forged`, SVC_ID_TOKEN: token, SVC_AUDIENCE: "svc-shop" });
		const { code, stdout, stderr } = await job.run(["secret", "get", "DB_URL", "--realm", slug, "--env", "prod"]);
		said.add([code, stdout, stderr.split("\n")[0]].join(" "));
		assert.equal(said.size, 1, `${what} (${answer}): ${[...said].join("; ")}`);
		assert.ok(!stderr.includes(token), what);
	});
	assert.match([...said].join(), new RegExp(`^3 {2}svc: .* ${slug}/forged\\b`));
});
