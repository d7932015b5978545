import assert from "node:assert/strict";
import { after, before, test } from "node:test";
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

/** Limit of a form in bytes, escapes included. */
const MAX_FORM = 262_144;

/** Answers that others must get while the server reads two documents for two seconds each; if they had to wait for one, they would get three. */
const LEAST_SERVED = 10;

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

/** Returns the largest document of each kind that fits in a form. One of them is an honest response in other characters. */
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

/** Asks for the server's health again and again until `other` is over; returns the number of answers. */
async function servedDuring(other: Promise<unknown>): Promise<number> {
	let isOver = false;
	const ending = other.finally(() => {
		isOver = true;
	});
	let count = 0;
	while (!isOver) {
		ok(await world.client.get("/health"));
		count++;
	}
	await ending;
	return count;
}

/** Posts documents one after the other. */
async function post(documents: string[], { cookie }: Begun, status: 401 | 413): Promise<void> {
	for (const document of documents) {
		const answer = await world.finish("corp", document, cookie);
		if (status === 401) refused(answer, 401, "unauthorized");
		else refused(answer, 413, "payload_too_large");
	}
}

test("others are served as ever while forms are posted that were made to take long", {
	skip: skipWithoutOpenssl,
}, async () => {
	const begun = await world.begin("corp");
	const said = world.said("corp", begun);
	const write = (change: object) => writeDocument(said, world.key, change);
	const [tooLarge, largest] = [Object.values(TOO_LARGE).map(write), largestThatFit(write)];
	const slow = write(slippedIn(longest()));
	const posting = async () => {
		await post(tooLarge, begun, 413);
		await post(largest, begun, 401);
	};
	const served = await servedDuring(posting());
	assert.ok(served > tooLarge.length + largest.length, `${served} others were served`);
	const meanwhile = await servedDuring(post([slow, slow], begun, 401));
	assert.ok(meanwhile > LEAST_SERVED, `${meanwhile} others were served: they waited for a document`);
	ok(await world.finish("corp", write({}), begun.cookie));
});
