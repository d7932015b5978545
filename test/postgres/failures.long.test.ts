/* Failures of a real PostgreSQL that the server notices by waiting: locks, silence, slowness; and a full disk. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect } from "../../packages/server/src/store/postgres/connection.ts";
import { CHANGES_LOCK } from "../../packages/server/src/store/postgres/locks.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { secretPath } from "../harness/fixtures.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { expectRecovery, expectTrouble, type FailingWorld, startFailingWorld, write } from "./failing-world.ts";

const options = { skip: skipWithoutPostgres };
const ends = new AsyncDisposableStack();
let world: FailingWorld;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	world = await startFailingWorld();
	ends.defer(world.close);
});

test("a lock of another program that never ends: changes get 503, and the state names it", options, async () => {
	const { host, port, user } = world.postgres;
	const holder = await connect({ host, port, user, database: "svc_failing", password: "" });
	await holder.script(`SET idle_in_transaction_session_timeout = 0; BEGIN; ${CHANGES_LOCK}`);
	const { pid } = world.server;
	try {
		const answers = await Promise.all([write(world), write(world)]);
		for (const answer of answers) refused(answer, 503, "store_unavailable");
		await expectTrouble(world, "failing", "locked");
	} finally {
		await holder.close();
	}
	await expectRecovery(world, pid);
});

test(
	"connections that swallow everything are given up within seconds, with the requests on them",
	options,
	async () => {
		const { proxy, client, slug, admin, server } = world;
		const { pid } = server;
		proxy.blackhole();
		const asked_at = performance.now();
		const read = await client.get(secretPath(slug, "KEPT"), { token: admin.token });
		refused(read, 503, "store_unavailable");
		assert.ok(performance.now() - asked_at < 15_000, "not after the deadline of a statement");
		await expectTrouble(world, "away", "unreachable");
		proxy.restore();
		await expectRecovery(world, pid);
	},
);

test("a slow database is reported, and requests are still answered", options, async () => {
	const { proxy, client, slug, admin, server } = world;
	proxy.delay(600);
	// Each question of a request is slow, too, so the log is read instead.
	await eventually("it is slow", () => /"database\.slow".*"slow"/.test(server.stderr()));
	const { status, store } = ok(await client.get<{ status: string; store: { status: string } }>("/health"));
	assert.deepEqual([status, store.status], ["healthy", "slow"]);
	ok(await client.get(secretPath(slug, "KEPT"), { token: admin.token }));
	const { text } = await client.send("GET", "/metrics");
	assert.match(text, /^svc_store_answer_seconds 0\.[6-9]/m);
	proxy.restore();
	await expectRecovery(world, server.pid);
});

/** Mounts a small disk for a database. @returns the folder, or undefined where this process may not mount */
function mountSmallDisk(): string | undefined {
	const folder = mkdtempSync(join(tmpdir(), "svc-small-disk-"));
	const owner = spawnSync("id", ["-u", "postgres"], { encoding: "utf8" }).stdout.trim();
	const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=40m,uid=${owner},mode=0700`, "svc-test", folder]);
	if (mounted.status === 0) return folder;
	rmdirSync(folder);
	return undefined;
}

test("a full disk: changes get 503 until there is room", options, async (t) => {
	const folder = mountSmallDisk();
	if (folder === undefined) return t.skip("this process may not mount a disk");
	await using ends = new AsyncDisposableStack();
	ends.defer(() => {
		spawnSync("umount", [folder]);
		rmdirSync(folder);
	});
	const full = await startFailingWorld(folder);
	ends.defer(full.close);
	const { pid } = full.server;
	const filler = join(folder, "filler");
	assert.throws(() => writeFileSync(filler, Buffer.alloc(64 * 1024 * 1024)), { code: "ENOSPC" });
	const writeMuch = () => write(full, "x".repeat(60_000));
	// A small row has room in the pages that are there, also the one with which the server tries: the reason comes and goes.
	await eventually("a change finds no room, and health says so", async () => {
		const answer = await writeMuch();
		const { store } = (await full.client.get<{ store: { reason?: string } }>("/health")).body;
		if (answer.status === 503) refused(answer, 503, "store_unavailable");
		return answer.status === 503 && store.reason === "full";
	});
	rmSync(filler);
	await expectRecovery(full, pid);
	ok(await writeMuch(), 201);
});
