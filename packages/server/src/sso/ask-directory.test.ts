import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { createDirectories } from "./ask-directory.ts";

const asker = (source: string) => ({ source, account: "ada", pair: `${source} ada` });

test("a login that waited a second for its directory is refused by name, and shows while it waits", async (t) => {
	let now = 0;
	t.mock.method(performance, "now", () => now);
	const limits = createLimits();
	const directories = createDirectories(limits);
	const shown = () => limits.all().map(({ name, used, max, refused }) => [name, used(), max, refused?.()]);
	const { promise, resolve } = Promise.withResolvers<string>();
	const asking = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map((source) =>
		directories("corp").run(asker(source), () => promise),
	);
	const late = directories("corp").run(asker("192.0.2.4"), async () => "asked");
	await new Promise(setImmediate);
	assert.equal(await directories("other").run(asker("192.0.2.5"), async () => "asked"), "asked");
	now = 900;
	assert.deepEqual(shown(), [["directory_login_wait_ms", 900, 1000, 0]]);
	now = 1001;
	assert.deepEqual(shown(), [["directory_login_wait_ms", 1000, 1000, 0]]);
	resolve("answered");
	assert.deepEqual(await Promise.all(asking), Array(3).fill("answered"));
	await assert.rejects(
		late,
		(error) =>
			error instanceof AppError && error.code === "rate_limited" && /\(directory_login_wait_ms\)/.test(error.message),
	);
	assert.deepEqual(shown(), [["directory_login_wait_ms", 0, 1000, 1]]);
});
