/* A kind of engine takes one folder and one line of the registry. The page for authors shows this one. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as KINDS from "../../../packages/server/src/engines/kinds/registry.ts";
import { type EngineWorld, eventually, startEngineWorld } from "../../harness/engine-world.ts";
import { ok, refused } from "../../harness/expect.ts";

type User = { username: string; password: string; expires_at: string };

let world: EngineWorld;
let path: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	path = await mkdtemp(join(tmpdir(), "svc-folder-"));
	ends.defer(() => rm(path, { recursive: true, force: true }));
	world = await startEngineWorld({ program: "test/engines/kind/server.ts" });
	ends.defer(world.close);
	assert.equal(ok(await world.configure("folder", { path })).status, "healthy");
});

test("a credential is made at the target, and gone from it once it is revoked", async () => {
	const answer = await world.generate<User>("folder", { role: "readonly", ttl: "10m" });
	const { username, password } = ok(answer);
	assert.equal(await readFile(join(path, username), "utf8"), password);
	const { state, name, role } = await world.leaseOf(answer);
	assert.deepEqual({ state, name, role }, { state: "active", name: username, role: "readonly" });
	assert.deepEqual(ok(await world.validate("folder", { username })), { valid: true, message: "credentials revoked" });
	assert.deepEqual(await readdir(path), []);
	assert.equal((await world.leaseOf(answer)).state, "revoked");
});

test("a role that the kind does not declare makes nothing", async () => {
	for (const role of ["root", "readonly\nroot", 5]) {
		const answer = await world.generate<{ error: { message: string } }>("folder", { role });
		refused(answer, 400, "engine_error");
		assert.equal(answer.body.error.message, "unknown role: valid roles are readonly");
	}
	assert.deepEqual(await readdir(path), []);
});

test("a name of another form is refused, not answered as revoked", async () => {
	await writeFile(join(path, "somebody"), "somebody else's");
	for (const params of [{ username: "somebody" }, { username: "../svc_00000000" }, {}])
		refused(await world.validate("folder", params), 400, "engine_error");
	assert.deepEqual(await readdir(path), ["somebody"]);
	await rm(join(path, "somebody"));
});

test("a credential ends by itself", async () => {
	const answer = await world.generate<User>("folder", { ttl: "1s" });
	assert.deepEqual(await readdir(path), [ok(answer).username]);
	await eventually("it is revoked", async () => (await world.leaseOf(answer)).state === "revoked");
	assert.deepEqual(await readdir(path), []);
});

test("what the ledger does not know is nobody's to revoke", async () => {
	await writeFile(join(path, "svc_00000000"), "somebody else's");
	refused(await world.validate("folder", { username: "svc_00000000" }), 404, "not_found");
	assert.deepEqual(await readdir(path), ["svc_00000000"]);
	await rm(join(path, "svc_00000000"));
});

test("while the target is away nothing is made, and revoking waits for it", async () => {
	const answer = await world.generate<User>("folder", {});
	const { username } = ok(answer);
	await rename(path, `${path}-away`);
	refused(await world.generate("folder", {}), 503, "engine_unavailable");
	refused(await world.validate("folder", { username }), 503, "engine_unavailable");
	assert.equal((await world.leaseOf(answer)).state, "revoking");
	await rename(`${path}-away`, path);
	ok(await world.configure("folder", { path }));
	await eventually("it is revoked", async () => (await world.leaseOf(answer)).state === "revoked");
	assert.deepEqual(await readdir(path), []);
});

test("a kind takes one line of the registry, and this one takes 40 lines of code", async () => {
	const codeOf = async (file: string) =>
		(await readFile(new URL(file, import.meta.url), "utf8"))
			.split("\n")
			.filter((line) => !/^\s*($|import |\/\*|\*|\/\/)/.test(line));
	const lines = await codeOf("../../../packages/server/src/engines/kinds/registry.ts");
	const isOfKind = (line: string) => /^export \{ .+ \} from "\.\/[a-z-]+\/kind\.ts";$/.test(line);
	assert.deepEqual([lines.length, lines.every(isOfKind)], [Object.keys(KINDS).length, true]);
	const own = await codeOf("./folder.ts");
	assert.ok(own.length <= 40, `${own.length} lines`);
});

test("the page for authors shows this kind, line by line", async () => {
	const page = await readFile(new URL("../../../docs/target-kinds.md", import.meta.url), "utf8");
	const source = await readFile(new URL("./folder.ts", import.meta.url), "utf8");
	const shown = /```ts\n\/\/ packages\/server\/src\/engines\/kinds\/folder\/kind\.ts\n([\s\S]*?)```/.exec(page)?.[1];
	assert.equal(shown, source.replaceAll("../../../packages/server/src/engines/kinds/", "../"));
});
