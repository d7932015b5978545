import assert from "node:assert/strict";
import { test } from "node:test";
import { type Signed, skipWithoutOpenssl } from "../peers/saml-documents.ts";
import { useExaminer } from "../peers/saml-documents-examiner.ts";
import { POSITIONS, wrappedDocuments } from "../peers/saml-documents-wrapped.ts";

const examiner = useExaminer();
const options = { skip: skipWithoutOpenssl };

test("an honest response is accepted, whichever of its parts are signed", options, async () => {
	for (const signed of ["assertion", "response", "both"] satisfies Signed[]) {
		const { subject, email, name, groups } = await examiner().identify(examiner().write({ signed }));
		assert.deepEqual(
			{ subject, email, name, groups },
			{ subject: "alice", email: "alice@example.com", name: "Alice", groups: ["admins", "staff"] },
		);
	}
});

test(
	"no response in which a signed assertion is wrapped lets anybody in, not even whom the signature names",
	options,
	async () => {
		const documents = wrappedDocuments(examiner().said, examiner().key);
		assert.equal(documents.length, 8 * 3 * POSITIONS.length);
		assert.equal(new Set(documents.map(({ document }) => document)).size, documents.length, "each is another one");
		const byName = Object.fromEntries(documents.map(({ name, document }) => [name, document]));
		const verdicts = Object.entries(await examiner().verdicts(byName));
		assert.deepEqual(
			verdicts.filter(([, verdict]) => verdict === "accepted"),
			[],
		);
	},
);
