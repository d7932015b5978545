import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ok, refused } from "../harness/expect.ts";
import { asField, skipWithoutOpenssl, writeDocument } from "../peers/saml-documents.ts";
import {
	heavyDocuments,
	LARGEST,
	longest,
	MANY_CERTIFICATES,
	slippedIn,
	TOO_LARGE,
} from "../peers/saml-documents-heavy.ts";
import { type Begun, issuerOf, type SamlWorld, startSamlWorld } from "./saml-world.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

/** Bytes of a form, of which its escapes take a part. */
const MAX_FORM = 262_144;

/** Milliseconds for which others are counted while nothing is posted. */
const BASELINE_MS = 1000;

/** How much more slowly others may be served while one of the cores reads, and this process writes, what takes long. */
const MAX_SLOWER = 10;

let world: SamlWorld;

before(async () => {
	if (skipWithoutOpenssl !== false) return;
	const started = await startSamlWorld();
	ends.defer(started.close);
	world = started;
	const idp_certificate = world.key.certificate.repeat(MANY_CERTIFICATES);
	const [idp_entity_id, idp_sso_url] = [issuerOf("corp"), `${issuerOf("corp")}sso`];
	await world.set("corp", { idp_entity_id, idp_sso_url, idp_certificate, email_attribute: "mail" });
	ok(await world.signIn("corp"));
});

/** The largest of each that a form can hold. One of them says what an honest response does, in other characters. */
function largestThatFit(write: (change: object) => string): string[] {
	const found = new Map<string, string>();
	for (let size = LARGEST; size > LARGEST / 2; size *= 0.95) {
		for (const [name, change] of Object.entries(heavyDocuments(size))) {
			if (found.has(name) || name === "references") continue;
			const document = write(change);
			if (`${new URLSearchParams({ SAMLResponse: asField(document) })}`.length <= MAX_FORM) found.set(name, document);
		}
	}
	assert.equal(found.size, Object.keys(heavyDocuments(LARGEST)).length - 1);
	return [...found.values()];
}

/** Asks for the server's health, again and again, until something else is over. */
async function servedDuring(other: Promise<unknown>): Promise<{ each_ms: number; longest_ms: number }> {
	let isOver = false;
	const ending = other.finally(() => {
		isOver = true;
	});
	const began = performance.now();
	let count = 0;
	let longest_ms = 0;
	while (!isOver) {
		const asked = performance.now();
		ok(await world.client.get("/health"));
		longest_ms = Math.max(longest_ms, performance.now() - asked);
		count++;
	}
	await ending;
	return { each_ms: (performance.now() - began) / count, longest_ms };
}

/** Posts them one after the other; answers how many milliseconds the one took that took the longest. */
async function post(documents: string[], { cookie }: Begun, status: 401 | 413): Promise<number> {
	let longest_ms = 0;
	for (const document of documents) {
		const began = performance.now();
		const answer = await world.finish("corp", document, cookie);
		longest_ms = Math.max(longest_ms, performance.now() - began);
		if (status === 401) refused(answer, 401, "unauthorized");
		else refused(answer, 413, "payload_too_large");
	}
	return longest_ms;
}

test("others are served as ever while forms are posted that were made to take long", {
	skip: skipWithoutOpenssl,
}, async () => {
	const begun = await world.begin("corp");
	const said = world.said("corp", begun);
	const write = (change: object) => writeDocument(said, world.key, change);
	const [tooLarge, largest] = [Object.values(TOO_LARGE).map(write), largestThatFit(write)];
	const slow = write(slippedIn(longest()));
	await servedDuring(sleep(BASELINE_MS));
	const baseline = await servedDuring(sleep(BASELINE_MS));
	let slowest_ms = 0;
	const posting = async () => {
		await post(tooLarge, begun, 413);
		await post(largest, begun, 401);
		slowest_ms = await post([slow, slow], begun, 401);
	};
	const others = await servedDuring(posting());
	const figures = JSON.stringify({ baseline, others, slowest_ms });
	assert.ok(others.each_ms < baseline.each_ms * MAX_SLOWER, figures);
	assert.ok(others.longest_ms < slowest_ms / 2, `somebody waited for a document of somebody else: ${figures}`);
	ok(await world.finish("corp", write({}), begun.cookie));
});
