import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { seededRandom } from "../random.ts";
import { faultSettings } from "../settings.ts";
import { recordedCommand, skipWithoutStrace } from "../strace.ts";
import { type Crash, crashes } from "./crashes.ts";
import { readRecording, STRING_LIMIT_BYTES, TRACED_CALLS } from "./recording.ts";

const COMMITS = 150;
const MOMENTS = 120;

const { seed } = faultSettings();
const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-power-loss-")));
after(() => rmSync(root, { recursive: true }));

test("no commit acknowledged with synchronous=FULL is lost in a power cut", { skip: skipWithoutStrace }, async (t) => {
	t.diagnostic(`seed ${seed}`);
	const { losses, corruptions } = await cutPowerOf("FULL");
	assert.deepEqual(corruptions, []);
	assert.deepEqual(losses, []);
});

test("the power-loss replay finds the commits that synchronous=NORMAL loses", {
	skip: skipWithoutStrace,
}, async (t) => {
	t.diagnostic(`seed ${seed}`);
	const { losses, corruptions } = await cutPowerOf("NORMAL");
	assert.deepEqual(corruptions, []);
	assert.ok(losses.length > MOMENTS, `only ${losses.length} images show a loss`);
});

async function cutPowerOf(synchronous: "FULL" | "NORMAL"): Promise<{ losses: string[]; corruptions: string[] }> {
	const events = await record(synchronous);
	assert.equal(events.flatMap((event) => (event.kind === "ack" ? event.ids : [])).length, COMMITS);
	const found = { losses: [] as string[], corruptions: [] as string[] };
	const plan = { moments: MOMENTS, folder: join(root, "image"), random: seededRandom(seed) };
	for (const crash of crashes(events, plan)) {
		const { sound, ids } = rowsAfter(crash);
		if (!sound) found.corruptions.push(crash.description);
		if (crash.acked.some((id) => !ids.has(id))) found.losses.push(crash.description);
	}
	return found;
}

async function record(synchronous: string) {
	const folder = join(root, synchronous);
	mkdirSync(folder);
	const log = join(root, `${synchronous}.strace`);
	const script = [process.execPath, join(import.meta.dirname, "commit-loop.ts"), folder, synchronous, String(COMMITS)];
	const [command = "", ...args] = recordedCommand(script, log, TRACED_CALLS, STRING_LIMIT_BYTES);
	const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
	child.stdout.resume();
	assert.deepEqual(await once(child, "exit"), [0, null]);
	return readRecording(log, folder, (written) => [...written.matchAll(/^ack (\d+)$/gm)].map((match) => match[1] ?? ""));
}

function rowsAfter(crash: Crash): { sound: boolean; ids: Set<string> } {
	const database = new DatabaseSync(join(crash.folder, "loop.db"));
	try {
		// The image is thrown away, so a sync would only cost time.
		database.exec("PRAGMA synchronous = OFF");
		const sound = database.prepare("PRAGMA quick_check").get()?.quick_check === "ok";
		const created = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'item'").get() !== undefined;
		const rows = created ? database.prepare("SELECT id FROM item").all() : [];
		return { sound, ids: new Set(rows.map((row) => String(row.id))) };
	} catch {
		return { sound: false, ids: new Set() };
	} finally {
		database.close();
	}
}
