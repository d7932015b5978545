import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditEvent } from "../../audit/model.ts";
import { anEvent } from "../../testing/rows.ts";
import { readEvent, writeEvent } from "./event-line.ts";

test("an event is read as it was written, on one line, whatever somebody tried as an e-mail", () => {
	for (const actor of ["id", "", "a\tb", "a\nb", '"', "\\", "\u2028", "🔑", "\ud800"]) {
		const event: AuditEvent = {
			...anEvent(),
			actor,
			data: { key: "a\tb\nc", count: 1, left_out: undefined, is: true },
		};
		const line = writeEvent(event);
		assert.doesNotMatch(line, /[\n\r]/);
		assert.deepEqual(readEvent(line), { ...event, data: '{"key":"a\\tb\\nc","count":1,"is":true}' });
	}
});
