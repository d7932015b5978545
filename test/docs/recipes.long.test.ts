/* The recipes of docs/ci.md: what a job or a pod has there lets the real client in at the real server. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { readBuild } from "../../packages/server/src/health/build.ts";
import { ok } from "../harness/expect.ts";
import { gitlabClaims, type Issuer, type Json, newKey, signJwt, startIssuer } from "../peers/issuer.ts";
import { skipWithoutKubectl, startKubernetes } from "../peers/kubernetes.ts";
import { fencesOf, textOf } from "./markdown.ts";
import { DB_URL, type RecipeWorld, skipWithoutMounts, startRecipeWorld } from "./recipe-world.ts";

const PAGE = "docs/ci.md";
const [workflow = "", pipeline = "", manifest = ""] = fencesOf(textOf(PAGE), "yaml");
const ARCHIVE = `svc-${readBuild().version}-linux-x64`;

let world: RecipeWorld;
let issuer: Issuer;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	world = ends.use(await startRecipeWorld({ SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1" }));
	issuer = await startIssuer();
	ends.defer(issuer.stop);
	await writeFile(join(world.home, "issuer.pem"), issuer.ca_cert);
	await writeFile(join(world.home, ".env.example"), "DB_URL=\n");
	const scripts = { test: `test "$DB_URL" = ${DB_URL.staging}` };
	await writeFile(join(world.home, "package.json"), JSON.stringify({ scripts }));
	await world.follow(PAGE, "svc machine create deploy");
});

/** Options that let an issuer on loopback stand for the platform's. */
const elsewhere = () => `--issuer ${issuer.issuer} --ca-cert issuer.pem`;
const now_s = () => Math.floor(Date.now() / 1000);

test("the job of GitHub Actions runs with its secrets, and not without the permission to ask for a JWT", async () => {
	await world.follow(PAGE, "svc machine trust add github", elsewhere());
	const { permissions, env, steps } = parse(workflow).jobs.test;
	const [, install, last] = steps;
	assert.equal(permissions["id-token"], "write");
	assert.ok(install.run.includes(ARCHIVE), install.run);
	const job = { ...world.fill(env), GITHUB_ACTIONS: "true", NODE_EXTRA_CA_CERTS: join(world.home, "issuer.pem") };
	const refused = await world.shell(last.run, job);
	assert.equal(refused.code, 125);
	assert.match(refused.stderr, /`permissions: id-token: write`/);
	const { code, stderr } = await world.shell(last.run, { ...job, ...issuer.job_environment });
	assert.equal(code, 0, stderr);
});

test("the job of GitLab CI runs with its secrets by the JWT that it declares", async () => {
	await world.follow(PAGE, "svc machine trust add gitlab", elsewhere());
	const { id_tokens, variables, before_script, script } = parse(pipeline).test;
	assert.ok(before_script.join("\n").includes(ARCHIVE));
	const audiences = Object.entries(id_tokens as Record<string, { aud: string }>).map(([name, { aud }]) => [name, aud]);
	const tokens = Object.entries(world.fill(Object.fromEntries(audiences))).map(([name, audience]) => [
		name,
		issuer.mint(gitlabClaims(issuer.issuer, audience, now_s())),
	]);
	const { SVC_FINGERPRINT } = world.server;
	const job = { ...world.fill(variables), SVC_FINGERPRINT, ...Object.fromEntries(tokens) };
	for (const line of script) {
		const { code, stderr } = await world.shell(line, job);
		assert.equal(code, 0, stderr);
	}
});

test("Kubernetes accepts the Pod, and svc finds the projected token", {
	skip: skipWithoutKubectl || skipWithoutMounts,
}, async () => {
	const kubernetes = await startKubernetes();
	try {
		await kubernetes.namespace("shop");
		const made = async (path: string, object: object | string): Promise<Json> => {
			const { status, body } = await kubernetes.request("POST", `/api/v1/namespaces/shop/${path}`, object);
			assert.equal(status, 201, `${path}: ${body.message}`);
			return body;
		};
		await made("serviceaccounts", { metadata: { name: "web" } });
		await made("pods?fieldValidation=Strict&dryRun=All", manifest);
		const { containers, volumes, serviceAccountName } = parse(manifest).spec;
		const [{ env, volumeMounts }] = containers;
		const [{ name, projected }] = volumes;
		const [{ serviceAccountToken: wanted }] = projected.sources;
		assert.equal(volumeMounts[0].name, name);

		await writeFile(join(world.home, "kubeconfig"), kubernetes.kubeconfig);
		for (const command of ["svc machine create web", "kubectl get --raw", "svc machine trust add kubernetes"])
			await world.follow(PAGE, command, "", { KUBECONFIG: "kubeconfig" });
		const spec = { audiences: [wanted.audience], expirationSeconds: wanted.expirationSeconds };
		const { status } = await made(`serviceaccounts/${serviceAccountName}/token`, { spec });
		const variables = env.map((one: { name: string; value: string }) => [one.name, one.value]);
		const file = { path: join(volumeMounts[0].mountPath, wanted.path), content: (status as { token: string }).token };
		const { SVC_FINGERPRINT } = world.server;
		const inPod = { ...world.fill(Object.fromEntries(variables)), SVC_FINGERPRINT };
		const read = await world.shell("svc secret get DB_URL --realm shop --env prod", inPod, file);
		assert.deepEqual([read.code, read.stdout.trim()], [0, DB_URL.prod], read.stderr);
	} finally {
		await kubernetes.stop();
	}
});

/** Values for the words in capitals of the table of platforms. */
const VALUES: Readonly<Record<string, string>> = {
	ACCOUNT: "123456789012",
	ROLE: "arn:aws:iam::123456789012:role/deploy",
	NUMBER: "112233445566778899000",
	ID: "id-1a2b3c4d",
	...Object.fromEntries(["UUID", "TENANT", "ORG"].map((word) => [word, "0190d1c4-6a3e-4cc1-8f0e-0d7a3f1b2c4d"])),
};
const filled = (text: string) => text.replace(/\b[A-Z]{2,}\b/g, (word) => VALUES[word] ?? word);
const { ACCOUNT: aws_account, ROLE, NUMBER, ID, UUID } = VALUES;

/** A workload's claims on each platform, and whether its JWT is used once. */
const PLATFORMS: Readonly<Record<string, readonly [claims: Json, isOnce: boolean]>> = {
	AWS: [{ sub: ROLE, "https://sts.amazonaws.com/": { aws_account } }, true],
	"Google Cloud": [{ sub: NUMBER }, false],
	Entra: [{ oid: UUID }, false],
	CircleCI: [{ "oidc.circleci.com/project-id": UUID }, false],
	Buildkite: [{ organization_id: UUID, pipeline_id: UUID }, true],
	"HCP Terraform": [{ terraform_organization_id: ID, terraform_workspace_id: ID }, false],
	SPIFFE: [{ sub: "spiffe://prod.example.com/web" }, false],
};

/** The cells of a platform's row, and in each the texts between backticks. */
function rowOf(platform: string): string[][] {
	const [, row = assert.fail(`the table has no row for ${platform}`)] =
		new RegExp(`^\\| ${platform} +\\|(.*)\\|$`, "m").exec(textOf(PAGE)) ?? [];
	return row.split("|").map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => filled(text)));
}

/** The command that the row of a platform means, as somebody types it in a shell. */
function trustOf(platform: string, name: string): string {
	const [[issuer = "", ...more] = [], claims = []] = rowOf(platform);
	const where = [issuer.startsWith("--") ? issuer : `--issuer ${issuer} --keys bundle.json`, ...more];
	const named = claims.map((claim) => `--claim ${claim}`);
	return ["svc machine trust add oidc others --realm shop --name", name, ...where, ...named].join(" ");
}

test("each row of the table of platforms, typed in a shell, is a trust that takes the platform's JWT", async () => {
	const key = newKey("ES384", "bundle");
	await writeFile(join(world.home, "bundle.json"), JSON.stringify({ keys: [key.jwk] }));
	await world.asAda("svc machine create others --realm shop --env staging");
	const rows = /\n## Other platforms\n[\s\S]*?\n\n(\| platform[\s\S]*?)\n\n/.exec(textOf(PAGE))?.[1]?.split("\n") ?? [];
	assert.equal(rows.length - 2, Object.keys(PLATFORMS).length);
	for (const [platform, [own, isOnce]] of Object.entries(PLATFORMS)) {
		const name = platform.toLowerCase().replace(" ", "-");
		await world.asAda(trustOf(platform, name));
		const path = `/realms/shop/machines/others/trusts/${name}`;
		const trust = ok(await world.client.get<Json>(path, { token: world.ada.token }));
		const times = { iat: now_s(), exp: now_s() + 300, jti: platform };
		const iss = trust.issuer === null ? {} : { iss: trust.issuer };
		const jwt = signJwt(key, { ...iss, aud: trust.audience, ...times, ...own });
		const statuses: number[] = [];
		for (let count = 0; count < 2; count++)
			statuses.push((await world.client.post("/auth/jwt", { realm: "shop", machine: "others", jwt })).status);
		assert.deepEqual(statuses, [200, isOnce ? 401 : 200], platform);
	}
});

test("a number of AWS without its quotes is refused: the JWT has a text there", async () => {
	const line = trustOf("AWS", "loose").replace(/'"(\d+)"'/, "$1");
	const { code, stderr } = await world.shell(line, { ...world.server, SVC_TOKEN: world.ada.token });
	assert.equal(code, 1);
	assert.match(stderr, /\baws_account\b.* as a text\b/);
});
