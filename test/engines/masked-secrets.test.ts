/* A secret goes only where it was meant to: to change the address, you repeat the secret. The peers here are those at other addresses. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { installEngine } from "../harness/install-engine.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type FakeOrchestrator, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";

const MASK = "********";
const SECRET = "hunter2-hunter2";

/** A third party's engine that writes its secret to the file in `note`. */
const TELLTALE = `#!/bin/sh
[ -n "$SVC_NOTE" ] && echo "$SVC_KEY" >> "$SVC_NOTE"
while IFS= read -r line; do
  case $line in
    *'"method":"describe"'*) echo '{"data":{"name":"telltale","version":"0.1.0","display_name":"Telltale","description":"Nothing","capabilities":["secret_generation","secret_validation"]}}' ;;
    *'"method":"ping"'*) echo '{"data":{"status":"healthy"}}' ;;
    *) echo '{"data":{}}' ;;
  esac
done
`;
const PROPERTIES = {
	key: { type: "string", format: "password", env: "SVC_KEY" },
	other: { type: "string", format: "password", env: "SVC_OTHER" },
	note: { type: "string", env: "SVC_NOTE" },
	usual: { type: "string", env: "SVC_USUAL", default: "as it is" },
};

let world: EngineWorld;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	const folder = await mkdtemp(join(tmpdir(), "svc-engines-"));
	ends.defer(() => rm(folder, { recursive: true, force: true }));
	const config_schema = { type: "object", properties: PROPERTIES };
	const changes = { display_name: "Telltale", description: "Nothing", config_schema };
	await installEngine(folder, "telltale", { file: "engine.sh", text: TELLTALE }, changes);
	world = await startEngineWorld({ env: { SVC_PLUGINS_DIR: folder } });
	ends.defer(world.close);
});

/** Accepts connections, records all input, and answers nothing. */
async function listen() {
	let heard = "";
	const server = createServer((socket) => {
		socket.setEncoding("latin1").on("data", (text: string) => {
			heard += text;
		});
		socket.on("error", () => undefined);
		socket.setTimeout(1000, () => socket.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
		heard: () => heard,
		close: async () => void server.close(),
	};
}

/** Fails unless the server asked for the secret again because the other field changed. */
function askedAgain(answer: Awaited<ReturnType<EngineWorld["configure"]>>, secret: string, moved: string): void {
	refused(answer, 400, "missing_field");
	const { message } = (answer.body as unknown as ErrorBody).error;
	assert.match(message, new RegExp(`^${secret}\\b.*\\b${moved}\\b`));
}

for (const where of ["all realms", "one realm"]) {
	test(`a key-value store's password, for ${where}, goes to no other address, nor without the protection that it had`, async () => {
		const slug = where === "one realm" ? world.slug : undefined;
		const elsewhere = await listen();
		ends.defer(elsewhere.close);
		const configure = (more: object) =>
			world.configure("keyvalue", { address: "127.0.0.1:1", password: MASK, ...more }, slug);
		refused(await configure({ address: elsewhere.address }), 400, "missing_field");
		ok(await configure({ password: SECRET, tls: true }));
		askedAgain(await configure({ tls: true, address: elsewhere.address }), "password", "address");
		askedAgain(await configure({ tls: false }), "password", "tls");
		askedAgain(await configure({}), "password", "tls");
		askedAgain(await configure({ tls: true, ca_cert: "" }), "password", "ca_cert");
		assert.equal(elsewhere.heard(), "");
		ok(await configure({ tls: true, max_ttl: "2h" }));
		ok(await configure({ address: elsewhere.address, password: "another one" }));
		assert.match(elsewhere.heard(), /another one/);
		assert.doesNotMatch(elsewhere.heard(), new RegExp(SECRET));
	});
}

test("an orchestrator's token goes to no other API server, whatever names it, nor past another authority", async () => {
	const [here, there]: FakeOrchestrator[] = await Promise.all([startFakeOrchestrator(), startFakeOrchestrator()]);
	assert.ok(here && there);
	ends.defer(here.stop);
	ends.defer(there.stop);
	const usual = { api_server: here.url, ca_cert: here.ca };
	const configure = (fields: object) => world.configure("containerorch", { bearer_token: MASK, ...fields });
	assert.equal(ok(await configure({ ...usual, bearer_token: here.token })).status, "healthy");
	askedAgain(await configure({ ...usual, api_server: there.url }), "bearer_token", "api_server");
	askedAgain(await configure({ ca_cert: here.ca }), "bearer_token", "api_server");
	askedAgain(await configure({ ...usual, kubeconfig_path: "/tmp/elsewhere" }), "bearer_token", "kubeconfig_path");
	askedAgain(await configure({ ...usual, ca_cert: there.ca }), "bearer_token", "ca_cert");
	askedAgain(await configure({ ...usual, ca_cert: "" }), "bearer_token", "ca_cert");
	assert.deepEqual(there.calls, []);
	assert.equal(ok(await configure({ ...usual, token_ttl: "2h" })).status, "healthy");
});

test("a third party's secret stays only when no field of its engine has changed", async () => {
	const note = join(tmpdir(), `svc-never-written-${process.pid}`);
	const configure = (fields: object) => world.configure("telltale", { key: MASK, other: MASK, ...fields });
	ok(await configure({ key: SECRET, other: "o" }));
	for (const [fields, moved] of [
		[{ note }, "note"],
		[{ usual: "elsewhere" }, "usual"],
		[{ other: "changed" }, "other"],
	] as const)
		askedAgain(await configure(fields), "key", moved);
	ok(await configure({ allowed_realms: [world.slug], role_capabilities: { a: "secrets:read" }, usual: "as it is" }));
	ok(await configure({ key: "said again", other: "o", note: "" }));
	await assert.rejects(rm(note), { code: "ENOENT" });
});

test("a directory's bind password goes to no other directory", async () => {
	const { token } = world.admin;
	const put = (config: object) =>
		world.client.send("PUT", "/api/v1/auth/providers/corp", {
			token,
			raw: JSON.stringify({ type: "ldap", config: { user_base_dn: "dc=x", bind_dn: "cn=svc", ...config } }),
		});
	const other = await listen();
	ends.defer(other.close);
	ok(await put({ url: "ldap://127.0.0.1:1", bind_password: SECRET }));
	refused(await put({ url: `ldap://${other.address}`, bind_password: MASK }), 400, "missing_field");
	ok(await world.client.post("/auth/providers/corp/test", undefined, { token }));
	assert.equal(other.heard(), "");
	ok(await put({ url: `ldap://${other.address}`, bind_password: "another one" }));
	ok(await world.client.post("/auth/providers/corp/test", undefined, { token }));
	assert.match(other.heard(), /another one/);
	const protectedBy = { url: "ldap://127.0.0.1:1", start_tls: true, ca_cert: world.server.ca };
	ok(await put({ ...protectedBy, bind_password: SECRET }));
	for (const less of [{ start_tls: false }, { ca_cert: undefined }])
		refused(await put({ ...protectedBy, ...less, bind_password: MASK }), 400, "missing_field");
	ok(await put({ ...protectedBy, bind_password: MASK, name_attribute: "displayName" }));
});
