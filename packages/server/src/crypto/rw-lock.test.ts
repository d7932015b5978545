import assert from "node:assert/strict";
import { test } from "node:test";
import { createRwLock } from "./rw-lock.ts";

test("an exclusive task waits for those inside, and keeps the next ones out until it has ended", async () => {
	const lock = createRwLock();
	const log: string[] = [];
	const first = Promise.withResolvers<void>();
	const alone = Promise.withResolvers<void>();
	const record =
		(name: string, until: Promise<void> = Promise.resolve()) =>
		async () => {
			log.push(`${name} begins`);
			await until;
			log.push(`${name} ends`);
		};
	const tasks = [
		lock.shared(record("first", first.promise)),
		lock.exclusive(record("alone", alone.promise)),
		lock.exclusive(record("alone too")),
		lock.shared(record("second")),
	];
	first.resolve();
	alone.resolve();
	await Promise.all(tasks);
	assert.deepEqual(log.slice(0, 4), ["first begins", "first ends", "alone begins", "alone ends"]);
	const at = (entry: string) => log.indexOf(entry);
	assert.equal(at("alone too ends") - at("alone too begins"), 1);
	assert.equal(at("second ends") - at("second begins"), 1);
	assert.equal(log.length, 8);
});

test("shared tasks run side by side", async () => {
	const lock = createRwLock();
	const meet = Promise.withResolvers<void>();
	const both = [lock.shared(() => meet.promise), lock.shared(async () => meet.resolve())];
	await Promise.all(both);
});

test("a task that fails frees the lock and its caller gets the error", async () => {
	const lock = createRwLock();
	const fail = () => Promise.reject(new Error("failed"));
	await assert.rejects(lock.exclusive(fail), /failed/);
	await assert.rejects(lock.shared(fail), /failed/);
	assert.equal(await lock.exclusive(async () => "open"), "open");
});
