import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { skipWithoutOpenssl, swap, writeDocument } from "../peers/saml-documents.ts";
import { wrappedDocuments } from "../peers/saml-documents-wrapped.ts";
import { type SamlWorld, startSamlWorld } from "./saml-world.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
const options = { skip: skipWithoutOpenssl };

/** The query of a program's login. */
const PROGRAM = `cli_port=40001&cli_challenge=${"c".repeat(43)}`;

let world: SamlWorld;

before(async () => {
	if (skipWithoutOpenssl !== false) return;
	const started = await startSamlWorld();
	ends.defer(started.close);
	world = started;
	await world.set("corp");
	await world.set("partner");
	ok(await world.signIn("corp"));
});

/** Begins a login, and makes the honest answer to it. */
async function answered(name = "corp") {
	const begun = await world.begin(name);
	const said = world.said(name, begun);
	return { begun, said, document: writeDocument(said, world.key) };
}

const reasons = async () => (await world.refusals()).map(({ data }) => data.reason);

test("the same answer opens one session, when it comes again and when it comes often at once", options, async () => {
	const { begun, document } = await answered();
	await world.refusals();
	const answers: Answer[] = [];
	const send = async () => {
		for (let count = 0; count < 10; count++) answers.push(await world.finish("corp", document, begun.cookie));
	};
	// No more than these may wait from one source.
	await Promise.all(Array.from({ length: 5 }, send));
	assert.equal(answers.filter(({ status }) => status === 200).length, 1);
	for (const answer of answers.filter(({ status }) => status !== 200)) refused(answer, 401, "unauthorized");
	refused(await world.finish("corp", document, begun.cookie), 401, "unauthorized");
	assert.deepEqual(await reasons(), Array(50).fill("replay"));
});

test(
	"an assertion opens one session, whichever requests it answers, and a request takes one assertion",
	options,
	async () => {
		const { begun, said, document } = await answered();
		ok(await world.finish("corp", document, begun.cookie));
		const second = await world.begin("corp");
		await world.refusals();
		const again = writeDocument({ ...said, request_id: second.request_id }, world.key);
		refused(await world.finish("corp", again, second.cookie), 401, "unauthorized");
		const other = writeDocument({ ...said, assertion_id: "_another" }, world.key);
		refused(await world.finish("corp", other, begun.cookie), 401, "unauthorized");
		assert.deepEqual(await reasons(), ["replay", "replay"]);
	},
);

test(
	"an answer is refused in another browser, after a login of another provider, and without a cookie",
	options,
	async () => {
		const { begun, document } = await answered();
		const elsewhere = await world.begin("corp");
		const partner = await world.begin("partner");
		await world.refusals();
		refused(await world.finish("corp", document), 401, "unauthorized");
		refused(await world.finish("corp", document, elsewhere.cookie), 401, "unauthorized");
		refused(await world.finish("corp", document, partner.cookie), 401, "unauthorized");
		refused(await world.finish("partner", document, begun.cookie), 401, "unauthorized");
		refused(await world.finish("partner", document, partner.cookie), 401, "unauthorized");
		assert.deepEqual(await reasons(), ["request", "request", "request", "request", "recipient"]);
		ok(await world.finish("corp", document, `${elsewhere.cookie}; ${begun.cookie}`));
	},
);

test("a provider whose settings changed in between does not end the logins of before", options, async () => {
	const { begun, document } = await answered("partner");
	await world.set("partner");
	await world.refusals();
	refused(await world.finish("partner", document, begun.cookie), 401, "unauthorized");
	assert.deepEqual(await reasons(), ["request"]);
});

test("every document of the corpus is refused with one event, and nothing of it comes back", options, async () => {
	const { begun, said } = await answered();
	const documents = wrappedDocuments(said, world.key).map(({ document }) => document);
	for (const signed of ["assertion", "response", "nothing"] as const) {
		const mallory = { signed, said: { name_id: "mallory" } };
		documents.push(
			writeDocument(said, world.key, { ...mallory, finished: swap("mallory", "mallory<!-- -->") }),
			writeDocument(said, world.key, { ...mallory, finished: (text) => `<!DOCTYPE mallory>${text}` }),
			writeDocument(said, world.key, {
				...mallory,
				finished: (text) => text.replaceAll("SignatureValue>", "mallory>"),
			}),
			writeDocument(said, world.key, { signed, said: { audience: "mallory" } }),
			writeDocument(said, world.key, { signed, said: { issuer: "mallory", name_id: "mallory" } }),
			writeDocument(said, world.key, {
				...mallory,
				response: (text) => text.replace("status:Success", "status:mallory"),
			}),
		);
	}
	await world.refusals();
	const before = world.server.stdout().length + world.server.stderr().length;
	for (const document of documents) {
		const answer = await world.finish("corp", document, begun.cookie);
		refused(answer, 401, "unauthorized");
		assert.doesNotMatch(JSON.stringify([answer.text, answer.headers]), /mallory/);
	}
	const events = await world.refusals();
	assert.equal(events.length, documents.length);
	assert.doesNotMatch(JSON.stringify(events), /mallory/);
	assert.doesNotMatch((world.server.stdout() + world.server.stderr()).slice(before), /mallory/);
	ok(await world.finish("corp", writeDocument(said, world.key), begun.cookie));
});

test("a form that is too long, or is none, is refused", options, async () => {
	const { begun } = await answered();
	const room = 262_144 - "SAMLResponse=".length;
	refused(await world.post("corp", { SAMLResponse: "A".repeat(room) }, begun.cookie), 401, "unauthorized");
	refused(await world.post("corp", { SAMLResponse: "A".repeat(room + 1) }, begun.cookie), 413, "payload_too_large");
	refused(await world.post("corp", { RelayState: "x" }, begun.cookie), 400, "missing_field");
	refused(await world.post("nobody", { SAMLResponse: "AAAA" }, begun.cookie), 404, "not_found");
});

test("where a provider says to go next is no matter", options, async () => {
	const { begun, document } = await answered();
	const SAMLResponse = Buffer.from(document).toString("base64");
	const answer = await world.post("corp", { SAMLResponse, RelayState: "https://evil.example.com/" }, begun.cookie);
	ok(answer);
	assert.equal(answer.headers.location, undefined);
});

test("an assertion that was used answers no other request", options, async () => {
	const used = await answered();
	ok(await world.finish("corp", used.document, used.begun.cookie));
	const again = await world.begin("corp");
	await world.refusals();
	const said = { ...world.said("corp", again), assertion_id: used.said.assertion_id };
	refused(await world.finish("corp", writeDocument(said, world.key), again.cookie), 401, "unauthorized");
	assert.deepEqual(await reasons(), ["replay"]);
});

test("an answer for a program is valid for one code", options, async () => {
	const begun = await world.begin("corp", PROGRAM);
	const document = writeDocument(world.said("corp", begun), world.key);
	await world.refusals();
	const answer = await world.finish("corp", document, begun.cookie);
	assert.equal(answer.status, 302, answer.text);
	assert.match(String(answer.headers.location), /^http:\/\/127\.0\.0\.1:40001\/\?code=[\w-]{43}$/);
	refused(await world.finish("corp", document, begun.cookie), 401, "unauthorized");
	assert.deepEqual(await reasons(), ["replay"]);
});

test("a program is informed that its answer was refused, unless it may be another's", options, async () => {
	const [begun, other] = [await world.begin("corp", PROGRAM), await world.begin("corp", PROGRAM)];
	const document = writeDocument({ ...world.said("corp", begun), audience: "https://elsewhere.example" }, world.key);
	await world.refusals();
	refused(await world.finish("corp", document, `${begun.cookie}; ${other.cookie}`), 401, "unauthorized");
	const { status, headers } = await world.finish("corp", document, begun.cookie);
	assert.deepEqual([status, headers.location], [302, "http://127.0.0.1:40001/?error=unauthorized"]);
	assert.equal((await reasons()).length, 2);
});

test("an answer that was used, or whose login was begun, before a restart is refused after it", options, async () => {
	const used = await answered();
	const unused = await answered();
	ok(await world.finish("corp", used.document, used.begun.cookie));
	await world.server.restart();
	const again = await world.begin("corp");
	await world.refusals();
	refused(await world.finish("corp", used.document, used.begun.cookie), 401, "unauthorized");
	refused(await world.finish("corp", unused.document, unused.begun.cookie), 401, "unauthorized");
	const said = { ...used.said, ...world.said("corp", again), assertion_id: used.said.assertion_id };
	refused(await world.finish("corp", writeDocument(said, world.key), again.cookie), 401, "unauthorized");
	assert.deepEqual(await reasons(), ["request", "request", "replay"]);
	ok(await world.signIn("corp"));
});
