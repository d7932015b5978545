import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { layoutOf } from "../../packages/svc/src/install/layout.ts";
import { unitText } from "../../packages/svc/src/install/unit.ts";
import { ok } from "../harness/expect.ts";
import { PASSWORD } from "../harness/fixtures.ts";
import { plainApi } from "./plain-api.ts";
import { runServer } from "./process.ts";

const FILTER = fileURLToPath(new URL("../peers/call_filter.py", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "svc-unit-"));
const unit = join(folder, "svc.service");
await writeFile(unit, unitText(layoutOf({ prefix: "/usr/local", user: "svc" }), ""));
const trial = spawnSync("python3", [FILTER, unit, "true"], { encoding: "utf8" });
const skip =
	trial.status === 0
		? false
		: "python3, systemd-analyze or libseccomp is not installed: apt-get install python3 systemd libseccomp2";

test("with no system calls but those that the unit leaves, passwords are hashed and engines run", {
	skip,
}, async (t) => {
	t.after(() => rm(folder, { recursive: true, force: true }));
	const run = await runServer({
		data: join(folder, "data"),
		wrap: (command) => ["python3", FILTER, unit, ...command],
	});
	t.after(() => run.kill("SIGKILL"));
	const api = plainApi(run.url);
	const account = { email: "ada@example.test", password: PASSWORD };
	ok(await api.post("/auth/register", account), 201);
	const { token } = ok(await api.post<{ token: string }>("/auth/login", account));
	ok(await api.post("/realms", { slug: "shop", name: "Shop" }, { token }), 201);
	const path = "/realms/shop/engines";
	ok(await api.post(`${path}/totp/generate`, { issuer: "svc", account: "ada" }, { token }));
	ok(await api.post(`${path}/pki/generate`, { common_name: "a.example" }, { token }));
	assert.equal((await run.kill("SIGTERM")).code, 0);
});
