import assert from "node:assert/strict";
import { readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fakeIo, temporaryFolder } from "../testing/terminal.ts";
import { cacheSecrets, readCachedSecrets } from "./offline-cache.ts";

const OWNER = { address: "https://127.0.0.1:1", identity: "ada", realm: "shop", environment: "prod" };
const SECRETS = [{ key: "URL", value: "hunter22" }];

test("keeping removes what is old, a cut-off writing included, and is not held up by a file that goes away", async () => {
	await using state = await temporaryFolder();
	const { io } = fakeIo({ env: { XDG_STATE_HOME: state.path } });
	await cacheSecrets(io, OWNER, []);
	const folder = join(state.path, "svc", "run");
	const before = await readdir(folder);
	for (const name of ["a.sealed", "a.sealed.0198c0de"]) {
		await writeFile(join(folder, name), "");
		await utimes(join(folder, name), 0, 0);
	}
	await symlink(join(folder, "gone"), join(folder, "b.sealed"));
	await cacheSecrets(io, OWNER, SECRETS);
	assert.deepEqual((await readCachedSecrets(io, OWNER, 60_000)).secrets, SECRETS);
	assert.deepEqual(new Set(await readdir(folder)), new Set([...before, "b.sealed"]));
});
