import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { attribute, skipWithoutOpenssl, swap } from "../peers/saml-documents.ts";
import { useExaminer } from "../peers/saml-documents-examiner.ts";
import {
	heavyDocuments,
	inside,
	LARGEST,
	longest,
	MANY_CERTIFICATES,
	slippedIn,
	TOO_LARGE,
} from "../peers/saml-documents-heavy.ts";

const examiner = useExaminer();
const options = { skip: skipWithoutOpenssl };

/** Milliseconds that one document may take: of the event loop's thread, and of real time, by a timer started with the reading. */
const MAX_LOOP_MS = 50;
const MAX_MS = 3000;

/** Reads a document within its limits, and returns the reason for its refusal. First starts the thread, which the last document may have ended. */
async function timed(document: string): Promise<string | undefined> {
	await examiner().identify(examiner().write({}));
	const cpu = process.threadCpuUsage();
	let isLate = false;
	const timer = setTimeout(() => {
		isLate = true;
	}, MAX_MS);
	const { outcome } = await examiner().verdicts({ outcome: document });
	const { user, system } = process.threadCpuUsage(cpu);
	assert.ok((user + system) / 1000 < MAX_LOOP_MS, `the event loop was held up for ${(user + system) / 1000} ms`);
	clearTimeout(timer);
	assert.ok(!isLate);
	return outcome;
}

test("a field of more than 256 KiB is refused, and one of 256 KiB is read", options, async () => {
	const { write, identifyField } = examiner();
	const document = write({});
	const largest = Buffer.from(document + " ".repeat(LARGEST - document.length)).toString("base64");
	assert.equal(largest.length, 262_144);
	assert.equal((await identifyField(largest)).subject, "alice");
	const larger = Buffer.from(document + " ".repeat(LARGEST + 1 - document.length)).toString("base64");
	await assert.rejects(identifyField(larger), { reason: "malformed" });
	await assert.rejects(identifyField("A".repeat(20_000_000)), { reason: "malformed" });
});

test("a document has at most 2,048 elements, 16 levels, and 32 attributes of an element", options, async () => {
	const before =
		examiner()
			.write({})
			.split(/<[a-z]/).length - 1;
	const elements = (count: number) => inside("<x></x>".repeat(count - before));
	// The attributes are on the third level.
	const levels = (count: number) => inside("<x>".repeat(count - 3) + "</x>".repeat(count - 3));
	const attributes = (count: number) =>
		inside(`<x ${Array.from({ length: count }, (_, at) => `a${at + 10}=""`).join(" ")}></x>`);
	await examiner().expect({ elements: elements(2048), levels: levels(16), attributes: attributes(32) }, "accepted");
	await examiner().expect({ elements: elements(2049), levels: levels(17), attributes: attributes(33) }, "malformed");
});

test("what is made to take long is refused soon, and the event loop does not wait for it", options, async () => {
	const { write } = examiner();
	const documents = { ...TOO_LARGE, ...heavyDocuments(LARGEST) };
	const verdicts: Record<string, string | undefined> = {};
	for (const [name, change] of Object.entries(documents)) verdicts[name] = await timed(write(change));
	const refused = Object.entries(verdicts).filter(
		([name, verdict]) => verdict === "malformed" || name === "references",
	);
	assert.equal(refused.length, Object.keys(documents).length, JSON.stringify(verdicts));
});

test("the most that is read, honest and not, is read in time", options, async () => {
	const { write } = examiner();
	const groups = attribute("groups", ...Array.from({ length: 1900 }, (_, at) => `group-${at}`));
	const honest = write({ assertion: swap(attribute("groups", "admins", "staff"), groups) });
	assert.equal(await timed(honest), "accepted");
	const outcomes = [await timed(write(inside(longest()))), await timed(write(slippedIn(longest())))];
	// If two seconds are not enough to read it, it counts as malformed.
	for (const outcome of outcomes) assert.match(outcome ?? "", /^(?:signature|malformed)$/);
	assert.equal(await timed(write({})), "accepted", "the next one is read");
});

test("more responses than can wait are not read at all, from any source", options, async () => {
	const { saml, write, identifyFrom } = examiner();
	const limit = saml.limits.find(({ name }) => name === "saml_responses_waiting") ?? assert.fail();
	const document = write({});
	const sources = Array.from({ length: 80 }, (_, at) => `192.0.2.${at}`);
	await identifyFrom("192.0.2.200", document);
	const before = limit.refused?.() ?? 0;
	assert.equal(limit.max, 64);
	const outcomes = await Promise.allSettled(sources.map((source) => identifyFrom(source, document)));
	const refused = outcomes.filter((outcome) => outcome.status === "rejected");
	assert.equal(refused.length, 80 - 65, "one is read, and 64 wait");
	for (const { reason } of refused) {
		assert.equal(reason.name, "ProviderUnavailable");
		assert.match(reason.message, /\(saml_responses_waiting\)/);
	}
	assert.equal(limit.refused?.(), before + 15);
});

test("one source may send what takes long any number of times, and the others get their answer", options, async () => {
	const { saml, settings, sp, said, key, write, identify, identifyFrom } = examiner();
	await identify(write({}));
	await saml.loginUrl("settings", settings, sp, "_id", said.now);
	const slow = write(slippedIn(longest()));
	const messages: string[] = [];
	// Comes last: nobody waits for the documents still to be read.
	for (let count = 0; count < 20; count++) {
		const reading = identify(slow, { idp_certificate: key.certificate.repeat(MANY_CERTIFICATES) });
		reading.catch((error) => messages.push(error.message));
	}
	await saml.loginUrl("settings", settings, sp, "_id", said.now);
	await setImmediate();
	const tooMany = "saml_responses_waiting_per_source";
	assert.deepEqual(
		messages.map((message) => /\((\w+)\)/.exec(message)?.[1]),
		Array(3).fill(tooMany),
		"one is read, sixteen wait, and a login begins before any has ended",
	);
	assert.equal((await identifyFrom("192.0.2.2", write({}))).subject, "alice");
	assert.ok(messages.length <= 3 + 1, "the one that was being read ends before, and none that waits");
});

test("the lines of one site count as one source", options, async () => {
	const { write, identifyFrom } = examiner();
	const messages: string[] = [];
	const slow = write(slippedIn(longest()));
	for (let line = 0; line < 20; line++)
		identifyFrom(`2001:db8:7:${line}::/64`, slow).catch((error) => messages.push(error.message));
	assert.equal((await identifyFrom("192.0.2.2", write({}))).subject, "alice");
	const isBusy = (message: string) => message.includes("(saml_responses_waiting_per_source)");
	assert.equal(messages.filter(isBusy).length, 3);
});
