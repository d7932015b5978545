import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { type FakeOrchestrator, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";

let world: EngineWorld;
let fake: FakeOrchestrator;
let folder: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	fake = await startFakeOrchestrator();
	ends.defer(fake.stop);
	folder = await mkdtemp(join(tmpdir(), "svc-kubeconfig-"));
	ends.defer(() => rm(folder, { recursive: true }));
	world = await startEngineWorld();
	ends.defer(world.close);
});

const reach = () => ({ api_server: fake.url, bearer_token: fake.token, ca_cert: fake.ca });

/** Configures the engine; returns the status of its ping. */
async function configure(fields: object): Promise<string> {
	return ok(await world.configure("containerorch", fields)).status;
}

const ping = () => world.client.post("/engines/containerorch/ping", undefined, { token: world.admin.token });

async function makeAndRevoke(): Promise<void> {
	const answer = await world.generate<{ service_account: string }>("containerorch", { role: "viewer" });
	const { service_account } = ok(answer);
	ok(await world.validate("containerorch", { service_account }));
	assert.equal(fake.objects.size, 0);
}

test("address, token and authority are enough, and the token is not shown", async () => {
	const shown = ok(await world.configure("containerorch", reach()));
	assert.deepEqual(shown, {
		...reach(),
		bearer_token: "********",
		allowed_realms: ["*"],
		namespace: "default",
		token_ttl: "1h",
		status: "healthy",
	});
	assert.deepEqual(ok(await ping()), { status: "healthy" });
	await makeAndRevoke();
});

test("a kubeconfig is enough, with what it names in itself or next to it", async () => {
	const path = join(folder, "config");
	await writeFile(path, fake.kubeconfig);
	assert.equal(await configure({ kubeconfig_path: path }), "healthy");
	await makeAndRevoke();
	const beside = fake.kubeconfig
		.replace(/certificate-authority-data: \S+/, "certificate-authority: ca.crt")
		.replace(/token: "\S+"/, "tokenFile: token");
	await writeFile(join(folder, "ca.crt"), fake.ca);
	await writeFile(join(folder, "token"), fake.token);
	const other = join(folder, "other");
	await writeFile(other, beside);
	assert.equal(await configure({ kubeconfig_path: other }), "healthy");
	await makeAndRevoke();
});

test("an authority that is set and empty skips verification, and the status says so", async () => {
	assert.match(await configure({ ...reach(), ca_cert: "" }), /^healthy .*\bTLS\b/);
	await makeAndRevoke();
});

const TROUBLES: [what: string, fields: () => object, status: RegExp][] = [
	["an authority that did not sign", () => ({ ...reach(), ca_cert: undefined }), /\(\w*VERIFY\w*\)$/],
	[
		"another token",
		() => ({ ...reach(), bearer_token: "another" }),
		/GET \/api\/v1\/namespaces\/default: status 401: /,
	],
	["nothing at all", () => ({}), /SVC_ORCH_API_SERVER/],
	["no token", () => ({ api_server: fake.url }), /SVC_ORCH_TOKEN/],
	["an address that is none", () => ({ ...reach(), api_server: "kubernetes" }), /\bURL\b/],
	["an authority that is no PEM", () => ({ ...reach(), ca_cert: "nonsense" }), /\bPEM\b/],
	["a namespace that is none", () => ({ ...reach(), namespace: "No/Name" }), /\bDNS label\b/],
	["a kubeconfig that is not there", () => ({ kubeconfig_path: join(folder, "none") }), /\(ENOENT\)/],
];

for (const [what, fields, status] of TROUBLES) {
	test(`with ${what} the status says what is wrong, and nothing is made`, async () => {
		const said = await configure(fields());
		assert.match(said, /^ping failed: /);
		assert.match(said, status);
		const answer = await world.generate("containerorch", { role: "viewer" });
		refused(answer, said.includes("status 401") ? 400 : 503);
		assert.equal(fake.objects.size, 0);
		await eventually("no lease is open", async () => (await world.leases("uncertain")).length === 0);
	});
}

test("a life that is none is refused", async () => {
	for (const token_ttl of ["soon", "", "-1h", 3600]) {
		const answer = await world.configure("containerorch", { ...reach(), token_ttl });
		assert.equal(answer.status, 400, `${token_ttl}: ${answer.text}`);
	}
	assert.equal(await configure({ ...reach(), token_ttl: "5m" }), "healthy");
	const answer = await world.generate<{ error: { message: string } }>("containerorch", { role: "viewer" });
	refused(answer, 400, "engine_error");
	assert.match(answer.body.error.message, /^ttl 5m\w* .*\b10m$/);
});

test("where a configuration says nothing else, the server's own variables count, for the realms that it names", async () => {
	ok(await world.client.delete("/engines/containerorch/config", { token: world.admin.token }));
	refused(await ping(), 503, "engine_unavailable");
	await world.server.restart({ SVC_ORCH_API_SERVER: fake.url, SVC_ORCH_TOKEN: fake.token, SVC_ORCH_SKIP_TLS: "true" });
	assert.deepEqual(ok(await ping()), { status: "healthy" });
	refused(await world.generate("containerorch", { role: "viewer" }), 400, "engine_not_configured");
	assert.equal(await configure({}), "healthy");
	await makeAndRevoke();
	assert.ok(!world.server.stderr().includes(fake.token));
});

test("the server's own variable may name a kubeconfig, which its process may read", async () => {
	const path = join(folder, "own");
	await writeFile(path, fake.kubeconfig);
	const unset = { SVC_ORCH_API_SERVER: "", SVC_ORCH_TOKEN: "", SVC_ORCH_SKIP_TLS: "" };
	await world.server.restart({ ...unset, SVC_ORCH_KUBECONFIG: path });
	assert.deepEqual(ok(await ping()), { status: "healthy" });
	await makeAndRevoke();
});
