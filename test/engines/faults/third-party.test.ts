import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually, startEngineWorld } from "../../harness/engine-world.ts";
import { events } from "../../harness/events.ts";
import { ok, refused } from "../../harness/expect.ts";
import { installEngine } from "../../harness/install-engine.ts";
import { openApi, routesOf } from "../../harness/openapi.ts";
import { prepareSteering } from "./steering.ts";

const LEFT_BEHIND = "svc-0badcafe";

/** Keeps names in a file, one per line. */
const PROGRAM = `#!/bin/sh
while IFS= read -r line; do
  name=\${line##*'"name":"'}
  name=\${name%%'"'*}
  case $line in
    *'"method":"describe"'*) echo '{"data":{"name":"shelf","version":"0.1.0","display_name":"Shelf","description":"Nothing at all","capabilities":["dynamic_credentials"]}}' ;;
    *'"method":"ping"'*) echo '{"data":{"status":"healthy"}}' ;;
    *'"method":"generate"'*) echo "$name" >>"$SVC_SHELF"; echo '{"data":{"token":"made"}}' ;;
    *'"method":"list"'*) printf '{"data":{"names":[%s]}}\\n' "$(sed 's/.*/"&"/' "$SVC_SHELF" | paste -sd, -)" ;;
    *) grep -v "$name" "$SVC_SHELF" >"$SVC_SHELF.new"; mv "$SVC_SHELF.new" "$SVC_SHELF"; echo '{"data":{"valid":true,"message":"gone"}}' ;;
  esac
done
`;

const DESCRIPTOR = {
	display_name: "Shelf",
	capabilities: ["engine:dynamic_credentials", "engine:lease_hint", "engine:list"],
	config_schema: {
		type: "object",
		properties: { file: { type: "string", env: "SVC_SHELF" }, note: { type: "string" } },
	},
	default_roles: [{ name: "readonly", config: {} }],
};

/** Starts a server with that engine configured, and returns the file that the engine works on. */
async function startShelf(t: TestContext) {
	const folder = await mkdtemp(join(tmpdir(), "svc-engines-"));
	const file = join(folder, "names");
	await writeFile(file, `${LEFT_BEHIND}\n`);
	await installEngine(folder, "shelf", { file: "shelf.sh", text: PROGRAM }, DESCRIPTOR);
	const steering = await prepareSteering();
	const { options } = steering;
	const world = await startEngineWorld({ ...options, env: { ...options.env, SVC_PLUGINS_DIR: folder } });
	t.after(async () => {
		await world.close();
		await steering.remove();
		await rm(folder, { recursive: true });
	});
	const configure = (more: object) => world.configure("shelf", { file, ...more });
	const names = async () => (await readFile(file, "utf8")).split("\n").filter((name) => name !== "");
	return { world, steering, configure, names };
}

test("what a third party's engine lists and no lease knows is reported, and removed where all of it is ours", async (t) => {
	const { world, steering, configure, names } = await startShelf(t);
	const reported = async () =>
		(await events(world.client, world.admin, "type=lease.orphan")).map(({ data }) => [data.name, data.is_removed]);

	assert.equal(ok(await configure({ exclusive: true })).status, "healthy");
	const answer = await world.generate("shelf", {});
	ok(answer);
	const { name } = await world.leaseOf(answer);
	await eventually("it is reported", async () => (await reported()).length === 1);
	await steering.pass(15 * 60);
	await eventually("it is removed", async () => !(await names()).includes(LEFT_BEHIND));
	assert.deepEqual(await names(), [name]);
	assert.deepEqual(await reported(), [
		[LEFT_BEHIND, true],
		[LEFT_BEHIND, false],
	]);
	assert.equal((await world.leaseOf(answer)).state, "active");
});

test("what it made under a former configuration is found by its name", async (t) => {
	const { world, configure, names } = await startShelf(t);
	ok(await configure({ note: "one" }));
	const answer = await world.generate("shelf", {});
	const { name } = await world.leaseOf(answer);
	ok(await configure({ note: "two" }));
	assert.deepEqual(ok(await world.validate("shelf", { name })), { valid: true, message: "credentials revoked" });
	assert.deepEqual(await names(), [LEFT_BEHIND]);
	assert.equal((await world.leaseOf(answer)).state, "revoked");
});

test("a credential that was abandoned can no longer be revoked, as the document says", async (t) => {
	const { world, configure, names } = await startShelf(t);
	ok(await configure({}));
	const answer = await world.generate("shelf", {});
	const { id, name } = await world.leaseOf(answer);
	const { token } = world.admin;
	ok(await world.client.post(`/leases/${id}/abandon`, { reason: "gone" }, { token }));
	refused(await world.validate("shelf", { name }), 409, "conflict");
	assert.ok((await names()).includes(name), "nothing was done");
	const route = routesOf(await openApi(world.client)).find(({ path }) => path.endsWith("/{type}/validate"));
	assert.equal(route?.operation.responses[409]?.description, "conflict");
});
