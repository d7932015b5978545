/* Pods without a stored token: the real client against the real server, with the tokens of a real kube-apiserver. Design: §15 */
import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused, sameRefusal } from "../harness/expect.ts";
import { type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { type Json, type SigningKey, signJwt } from "../peers/issuer.ts";
import { type Kubernetes, skipWithoutKubernetes, startKubernetes } from "../peers/kubernetes.ts";

const AUDIENCE = "svc-shop";
const VALUE = "canary-of-the-value";
const options = { skip: skipWithoutKubernetes };

let kubernetes: Kubernetes;
let server: Server;
let client: Api;
let ada: Person;
let asAda: Cli;
let slug: string;
let uid: string;
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutKubernetes !== false) return;
	kubernetes = await startKubernetes();
	ends.defer(kubernetes.stop);
	server = await startServer({ env: { SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1" } });
	ends.defer(server.close);
	client = api(server);
	ada = await person(client, "ada");
	slug = (await realm(client, ada)).slug;
	await secret(client, ada, slug, "DB_URL", VALUE, { environment: "prod" });
	asAda = await as({ SVC_TOKEN: ada.token });
	for (const namespace of ["shop", "other"]) await kubernetes.namespace(namespace);
	uid = await account("shop", "web");
	await did("machine create web --env prod");
});

async function as(env: Record<string, string>): Promise<Cli> {
	const cli = await createCli(server, undefined, env);
	ends.defer(cli.close);
	return cli;
}

/** Runs a command of Ada's that must succeed. */
async function did(words: string): Promise<string> {
	const { code, stdout, stderr } = await asAda.run([...words.split(" "), "--realm", slug]);
	assert.equal(code, 0, stderr);
	return stdout;
}

async function made(path: string, object: object): Promise<Json> {
	const { status, body } = await kubernetes.request("POST", path, object);
	assert.equal(status, 201, JSON.stringify(body));
	return body;
}

const uidOf = ({ metadata }: Json): string => (metadata as { uid: string }).uid;

/** Makes a service account. @returns its uid */
async function account(namespace: string, name: string): Promise<string> {
	return uidOf(await made(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } }));
}

/** The token that the kubelet would ask for: of a service account, bound to a pod if one is given. */
async function token(place: string, audiences: string[] = [AUDIENCE], pod?: { name: string; uid: string }) {
	const [namespace, name] = place.split("/");
	const boundObjectRef = pod && { kind: "Pod", apiVersion: "v1", ...pod };
	const spec = { audiences, expirationSeconds: 3600, ...(pod && { boundObjectRef }) };
	const { status } = await made(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, { spec });
	return (status as { token: string }).token;
}

async function fileOf(name: string, content: string): Promise<string> {
	const file = join(asAda.home, name);
	await writeFile(file, content);
	return file;
}

/** The command that trusts the service account shop/web. */
function trust(machine: string, words: string): string {
	const account = `--service-account-uid ${uid} --namespace shop`;
	return `machine trust add kubernetes ${machine} ${account} --issuer ${kubernetes.url} --audience ${AUDIENCE} ${words}`;
}

/** Writes a projected token as the kubelet does: the file is a link into a folder that is replaced as a whole. */
async function project(volume: string, jwt: string): Promise<string> {
	const folder = `..${performance.now()}`;
	await mkdir(join(volume, folder), { recursive: true });
	await writeFile(join(volume, folder, "token"), jwt, { mode: 0o644 });
	await symlink(folder, join(volume, "..data_tmp"));
	await rename(join(volume, "..data_tmp"), join(volume, "..data"));
	await symlink("..data/token", join(volume, "token")).catch(() => undefined);
	return join(volume, "token");
}

const readIn = async (pod: Cli) => pod.run(["secret", "get", "DB_URL", "--realm", slug, "--env", "prod"]);

test("a pod reads a secret with its projected token, and with the one that follows it", options, async () => {
	const keys = await fileOf("jwks.json", JSON.stringify(await kubernetes.keys()));
	await did(trust("web", `--keys ${keys}`));
	const spec = { serviceAccountName: "web", containers: [{ name: "web", image: "registry.example.com/web" }] };
	const pod = await made("/api/v1/namespaces/shop/pods", { metadata: { name: "web-1" }, spec });
	const bound = () => token("shop/web", [AUDIENCE], { name: "web-1", uid: uidOf(pod) });
	const volume = join(asAda.home, "svc");
	const file = await project(volume, await bound());
	const inPod = await as({ SVC_MACHINE: `${slug}/web`, SVC_AUDIENCE: AUDIENCE, SVC_JWT_FILE: file });
	const first = await readIn(inPod);
	assert.deepEqual([first.code, first.stdout.trim()], [0, VALUE], first.stderr);
	await project(volume, await bound());
	const second = await readIn(inPod);
	assert.deepEqual([second.code, second.stdout.trim()], [0, VALUE], second.stderr);
	await project(volume, await token("shop/default"));
	const other = await readIn(inPod);
	assert.equal(other.code, 3);
	assert.match(other.stderr, /^svc: .*\/web\b/);
});

/** The claims of a real token, changed and signed with the cluster's own key. */
function resigned(jwt: string, change: Json): string {
	const [header, claims] = jwt.split(".", 2).map((part) => JSON.parse(Buffer.from(part, "base64url").toString()));
	const key: SigningKey = { alg: "ES256", kid: header.kid, key: createPrivateKey(kubernetes.signingKey), jwk: {} };
	return signJwt(key, { ...claims, ...change }, header);
}

async function inOrder<Row extends readonly [string, string, ...unknown[]]>(
	rows: readonly Row[],
	ask: (jwt: string) => Promise<Answer>,
) {
	const answers: Answer[] = [];
	for (const [, jwt] of rows) answers.push(await ask(jwt));
	return answers;
}

test("tokens of other accounts, namespaces and audiences, and late ones, are refused alike", options, async () => {
	await account("shop", "worker");
	await account("other", "web");
	const exchange = (jwt: string) => client.post("/auth/jwt", { realm: slug, machine: "web", jwt });
	const right = await token("shop/web");
	ok(await exchange(resigned(right, {})));
	const now_s = Math.floor(Date.now() / 1000);
	const attacks: readonly [what: string, jwt: string, reason: string][] = [
		["another account", await token("shop/worker"), "claim"],
		["the same name in another namespace", await token("other/web"), "claim"],
		["another audience", await token("shop/web", ["another"]), "audience"],
		["the audience of the cluster", await token("shop/web", []), "audience"],
		["two audiences", await token("shop/web", [AUDIENCE, "another"]), "audience"],
		["an expired one", resigned(right, { iat: now_s - 7200, nbf: now_s - 7200, exp: now_s - 3600 }), "expired"],
		["one that is not valid yet", resigned(right, { nbf: now_s + 3600 }), "not_yet_valid"],
		["one that lives for a year", resigned(right, { exp: now_s + 365 * 86_400 }), "times"],
	];
	const [first, ...answers] = await inOrder(attacks, exchange);
	assert.ok(first);
	refused(first, 401, "invalid_credentials");
	for (const answer of answers) sameRefusal(answer, first);
	const { events } = JSON.parse(await did("audit --machine web --type auth.login.failed --json"));
	const reasons = events.slice(0, attacks.length).map(({ data }: { data: string }) => JSON.parse(data).reason);
	assert.deepEqual(
		reasons.reverse(),
		attacks.map(([, , reason]) => reason),
	);
});

test("an account that is made again under its name is another one", options, async () => {
	const path = "/api/v1/namespaces/shop/serviceaccounts/again";
	uid = await account("shop", "again");
	await did("machine create again --env prod");
	const keys = await fileOf("jwks.json", JSON.stringify(await kubernetes.keys()));
	await did(trust("again", `--keys ${keys}`));
	const exchange = async () =>
		client.post("/auth/jwt", { realm: slug, machine: "again", jwt: await token("shop/again") });
	ok(await exchange());
	await kubernetes.request("DELETE", path);
	await account("shop", "again");
	refused(await exchange(), 401, "invalid_credentials");
});

test("a cluster that answers discovery needs no keys, if the operator names its host", options, async () => {
	uid = await account("shop", "reachable");
	await did("machine create reachable --env prod");
	const add = trust("reachable", `--ca-cert ${await fileOf("cluster.pem", kubernetes.ca)} --realm ${slug}`);
	const added = async () => (await as({ SVC_TOKEN: ada.token })).run(add.split(" "));
	assert.match((await added()).stderr, /\b403\b.*\bkeys\b/);
	await answerDiscovery();
	// A server that starts has asked nobody yet.
	await server.restart({ SVC_TRUSTS_PRIVATE_ISSUERS: "" });
	assert.match((await added()).stderr, /\btrusts\.private_issuers\b/);
	await server.restart({ SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1" });
	const { code, stderr } = await added();
	assert.equal(code, 0, stderr);
	const file = await project(join(asAda.home, "reachable"), await token("shop/reachable"));
	const inPod = await as({ SVC_MACHINE: `${slug}/reachable`, SVC_AUDIENCE: AUDIENCE, SVC_JWT_FILE: file });
	const read = await readIn(inPod);
	assert.deepEqual([read.code, read.stdout.trim()], [0, VALUE], read.stderr);
});

/** Lets everybody read the cluster's discovery document and keys. */
async function answerDiscovery(): Promise<void> {
	const apiGroup = "rbac.authorization.k8s.io";
	await made(`/apis/${apiGroup}/v1/clusterrolebindings`, {
		metadata: { name: "discovery" },
		roleRef: { apiGroup, kind: "ClusterRole", name: "system:service-account-issuer-discovery" },
		subjects: [{ apiGroup, kind: "Group", name: "system:unauthenticated" }],
	});
}
