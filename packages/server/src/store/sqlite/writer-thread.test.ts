import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { startThread } from "../../asset.ts";
import { anEvent, MADE_AT } from "../../testing/rows.ts";
import { makeFolder } from "../../testing/store.ts";
import { pack } from "./batch.ts";
import { writeEvent } from "./event-line.ts";
import { openReader, openWriter } from "./open.ts";
import type { WriterMessage, WriterRequest } from "./writer-thread.ts";

test("an end that arrives while operations are gathered comes after them, and is no failure", async (t) => {
	const file = join(await makeFolder(t), "svc.db");
	const worker = startThread(new URL("./writer-thread.ts", import.meta.url));
	const messages: WriterMessage[] = [];
	const send = (request: WriterRequest) => worker.postMessage(request);
	const ready = new Promise<void>((resolve) => {
		worker.on("message", (message: WriterMessage) => {
			messages.push(message);
			if ("kind" in message && message.kind === "ready") resolve();
		});
	});
	send({ file, now: MADE_AT, was_adopted: false });
	await ready;
	// The thread's first batch waits until all requests have arrived.
	const other = openWriter(file);
	other.exec("BEGIN IMMEDIATE");
	const exited = once(worker, "exit");
	for (const actor of ["first", "second", "third"]) send(pack([writeEvent(anEvent({ actor }))]));
	send("close");
	other.exec("COMMIT");
	other.close();
	await exited;
	assert.deepEqual(
		new Set(messages.map((message) => ("kind" in message ? message.kind : "events"))),
		new Set(["ready", "events"]),
	);
	const reader = openReader(file);
	assert.deepEqual(reader.prepare("SELECT actor FROM audit_event ORDER BY seq").pluck().all(), [
		"first",
		"second",
		"third",
	]);
	reader.close();
});
