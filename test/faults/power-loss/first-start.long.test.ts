import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runServer } from "../process.ts";
import { seededRandom } from "../random.ts";
import { faultSettings } from "../settings.ts";
import { recordedCommand, skipWithoutStrace } from "../strace.ts";
import { type Crash, crashes } from "./crashes.ts";
import { readRecording, STRING_LIMIT_BYTES, TRACED_CALLS } from "./recording.ts";

const MOMENTS = 12;
const TLS = { SVC_TLS_MODE: "self-signed" };

const { seed } = faultSettings();
const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-first-start-")));
after(() => rmSync(root, { recursive: true }));

test("a power cut during the first start leaves a folder that starts, and the announced fingerprints stay", {
	skip: skipWithoutStrace,
}, async (t) => {
	t.diagnostic(`seed ${seed}`);
	const data = join(root, "data");
	const log = join(root, "strace");
	mkdirSync(data, { mode: 0o700 });
	const wrap = (command: string[]) => recordedCommand(command, log, TRACED_CALLS, STRING_LIMIT_BYTES);
	const run = await runServer({ data, env: TLS, wrap });
	await run.kill("SIGKILL");
	const events = await readRecording(log, data, fingerprints);
	const announced = events.flatMap((event) => (event.kind === "ack" ? event.ids : []));
	assert.equal(announced.length, 2, "one of the certificate, one of the master key");
	const problems: string[] = [];
	for (const crash of crashes(events, { moments: MOMENTS, folder: join(root, "image"), random: seededRandom(seed) })) {
		const problem = await problemAfter(crash);
		if (problem !== undefined) problems.push(`${crash.description}: ${problem}`);
	}
	assert.deepEqual(problems, []);
});

/** Returns the fingerprints on which people rely: clients pin one, an operator notes the other. */
function fingerprints(written: string): string[] {
	return written.match(/(?:[0-9A-F]{2}:){31}[0-9A-F]{2}|(?<=fingerprint )[0-9a-f]{16}/g) ?? [];
}

async function problemAfter({ folder, acked }: Crash): Promise<string | undefined> {
	try {
		const run = await runServer({ data: folder, env: TLS });
		await run.kill("SIGKILL");
		const found = fingerprints(run.stdout());
		return acked.every((id) => found.includes(id)) ? undefined : "an announced fingerprint has changed";
	} catch (error) {
		return String(error);
	}
}
