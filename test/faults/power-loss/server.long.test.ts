import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { newOwner, type Owner } from "../owner.ts";
import { plainApi } from "../plain-api.ts";
import { runServer } from "../process.ts";
import { seededRandom } from "../random.ts";
import { faultSettings } from "../settings.ts";
import { recordedCommand, skipWithoutStrace } from "../strace.ts";
import { acknowledgements, promised } from "./acknowledgements.ts";
import { crashes } from "./crashes.ts";
import { findLoss, findWrongAnswer } from "./inspection.ts";
import { type DiskEvent, readRecording, STRING_LIMIT_BYTES, TRACED_CALLS } from "./recording.ts";
import { type Written, writeAndRead } from "./traffic.ts";

const MOMENTS = 150;
/** One in this many images goes to a server, which must start on it and answer. */
const IMAGES_PER_START = 25;

const { seed } = faultSettings();
const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-power-loss-")));
after(() => rmSync(root, { recursive: true }));

/** The recorded data: the disk, the folder as it was left, and its owner. */
interface Recording {
	events: DiskEvent[];
	data: string;
	owner: Owner;
	written: Written;
}

test("no answered request is lost in a power cut, and a server starts on what is left", {
	skip: skipWithoutStrace,
}, async (t) => {
	t.diagnostic(`seed ${seed}`);
	const { events, data, owner, written } = await recordLives("full");
	const masterKey = readFileSync(join(data, "master.key"));
	const plan = { moments: MOMENTS, folder: join(root, "image"), random: seededRandom(seed) };
	const problems: string[] = [];
	let images = 0;
	for (const crash of crashes(events, plan)) {
		images += 1;
		const loss = findLoss(crash, masterKey);
		const isStarted = images % IMAGES_PER_START === 0;
		const problem = loss ?? (isStarted ? await findWrongAnswer(crash, owner, written) : undefined);
		if (problem !== undefined) problems.push(`${crash.description}: ${problem}`);
	}
	assert.deepEqual(problems, []);
});

test("the replay finds what a server loses that does not sync its commits", { skip: skipWithoutStrace }, async (t) => {
	t.diagnostic(`seed ${seed}`);
	const script = ["--import", join(import.meta.dirname, "unsynced.ts"), join(import.meta.dirname, "server.ts")];
	const { events, data } = await recordLives("unsynced", script);
	const masterKey = readFileSync(join(data, "master.key"));
	const plan = { moments: MOMENTS, folder: join(root, "image"), random: seededRandom(seed) };
	let losses = 0;
	for (const crash of crashes(events, plan)) losses += findLoss(crash, masterKey) === undefined ? 0 : 1;
	assert.ok(losses > MOMENTS, `only ${losses} images show a loss`);
});

/** Records three lives on one folder: killed, stopped in good order, killed again, so that it includes recovery and clean-up. */
async function recordLives(name: string, script?: readonly string[]): Promise<Recording> {
	const data = join(root, name);
	mkdirSync(data, { mode: 0o700 });
	const log = join(root, `${name}.strace`);
	const wrap = (command: string[]) => recordedCommand(command, log, TRACED_CALLS, STRING_LIMIT_BYTES);
	const written: Written = new Map();
	let owner: Owner | undefined;
	for (const signal of ["SIGKILL", "SIGTERM", "SIGKILL"] as const) {
		const run = await runServer({ data, wrap, ...(script ? { script } : {}) });
		const api = plainApi(run.url);
		owner ??= await newOwner(api);
		await writeAndRead(api, owner, written);
		await run.kill(signal);
	}
	assert.ok(owner);
	const events = await readRecording(log, data, acknowledgements);
	const acked = events.flatMap((event) => (event.kind === "ack" ? event.ids.map(promised) : []));
	assert.equal(acked.filter(({ version }) => version !== undefined).length, written.size, "every write has its answer");
	return { events, data, owner, written };
}
