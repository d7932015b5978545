import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute, type Change, skipWithoutOpenssl, swap } from "../peers/saml-documents.ts";
import { useExaminer } from "../peers/saml-documents-examiner.ts";

const examiner = useExaminer();
const options = { skip: skipWithoutOpenssl };

/** Bytes of a document whose base64 text is as long as a form's field may be. */
const LARGEST = (262_144 / 4) * 3;

/** Milliseconds of the event loop's thread that one document may take, and of anybody's time. */
const MAX_LOOP_MS = 50;
const MAX_MS = 10_000;

/** As many of them as fit beside an honest response. */
const fill = (piece: (at: number) => string, room = LARGEST - 6000): string => {
	const pieces: string[] = [];
	for (let at = 0, size = 0; ; at++) {
		const next = piece(at);
		size += next.length;
		if (size > room) return pieces.join("");
		pieces.push(next);
	}
};

/** Puts something into the response, outside of what is signed. */
const beside = (text: string): Change => ({ finished: swap("<samlp:Status>", `${text}<samlp:Status>`) });
/** Puts something among the attributes, and signs it. */
const inside = (text: string): Change => ({
	assertion: swap("</saml:AttributeStatement>", `${text}</saml:AttributeStatement>`),
});

/** Reads a document, and answers why it was refused, when it took no more than it may. */
async function timed(document: string): Promise<string | undefined> {
	const cpu = process.threadCpuUsage();
	const start = performance.now();
	const { outcome } = await examiner().verdicts({ outcome: document });
	const { user, system } = process.threadCpuUsage(cpu);
	assert.ok((user + system) / 1000 < MAX_LOOP_MS, `the event loop was held up for ${(user + system) / 1000} ms`);
	assert.ok(performance.now() - start < MAX_MS);
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
	await timed(write({}));
	const nested = (count: number) => "<a>".repeat(count) + "</a>".repeat(count);
	const documents: Record<string, Change> = {
		"200,000 nested elements": beside(nested(200_000)),
		"as many nested elements as fit": beside(nested(LARGEST / 7 - 1000)),
		"as many nested elements as fit, signed": inside(nested(LARGEST / 7 - 1000)),
		"nested elements without an end": beside("<a>".repeat(LARGEST / 3 - 2000)),
		"50,000 attributes": beside(`<a ${Array.from({ length: 50_000 }, (_, at) => `a${at}=""`).join(" ")}></a>`),
		"as many attributes as fit": beside(`<a${fill((at) => ` a${at}=""`)}></a>`),
		"as many namespaces as fit": beside(`<a${fill((at) => ` xmlns:a${at}="urn:${at}"`)}></a>`),
		"namespaces over namespaces": beside(fill((at) => `<a xmlns:a${at}="u"><b xmlns:c="d"/>`)),
		"as many elements as fit": beside(fill(() => "<a/>")),
		"as many ends as fit": beside(fill(() => "</a>")),
		"a tag of blanks": beside(`<a${" ".repeat(LARGEST - 6000)}`),
		"an attribute without an end": beside(`<a b="${"x".repeat(LARGEST - 6000)}`),
		"a name without an end": beside(`<${"a".repeat(LARGEST - 6000)}`),
		ampersands: beside("&".repeat(LARGEST - 6000)),
		references: beside(fill(() => "&#38;")),
		openings: beside("<".repeat(LARGEST - 6000)),
		quotes: beside(`<a b='${'"'.repeat(LARGEST - 6000)}>`),
		"entities of entities": {
			finished: (text) =>
				`<!DOCTYPE a [<!ENTITY a0 "x">${fill((at) => `<!ENTITY a${at + 1} "&a${at};&a${at};">`)}]>${text}`,
		},
	};
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
	const spaces = Array.from({ length: 30 }, (_, at) => ` xmlns:n${at}="u${at}"`).join("");
	const levels = 5;
	const deep = `<a${spaces}>`.repeat(levels) + '<b xmlns:x="y"/>'.repeat(1950) + "</a>".repeat(levels);
	const outcomes = [
		await timed(write(inside(deep))),
		await timed(write({ finished: swap("</saml:AttributeStatement>", `${deep}</saml:AttributeStatement>`) })),
	];
	// Where two seconds are not enough for it, it counts as malformed.
	for (const outcome of outcomes) assert.match(outcome ?? "", /^(?:signature|malformed)$/);
	assert.equal(await timed(write({})), "accepted", "the next one is read");
});

test("people get an answer while others send what takes long", options, async () => {
	const { write, identify } = examiner();
	const slow = write({
		finished: swap("</saml:AttributeStatement>", `${"<b/>".repeat(2000)}</saml:AttributeStatement>`),
	});
	const flood = Array.from({ length: 20 }, () => identify(slow).catch(() => undefined));
	assert.equal((await identify(write({}))).subject, "alice");
	await Promise.all(flood);
});

test("more responses than can wait are not read at all", options, async () => {
	const { write, identify } = examiner();
	const document = write({});
	const outcomes = await Promise.allSettled(Array.from({ length: 80 }, () => identify(document)));
	const refused = outcomes.filter((outcome) => outcome.status === "rejected");
	assert.equal(refused.length, 80 - 65, "one is read, and 64 wait");
	for (const { reason } of refused) assert.match(reason.trouble, /try again/);
});
