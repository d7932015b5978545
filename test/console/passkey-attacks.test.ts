/* What a forged, replayed or foreign passkey is worth, in a real browser with Chromium's own authenticator. */
import assert from "node:assert/strict";
import {
	ALGORITHMS,
	type AuthenticationResponse,
	type RegistrationResponse,
} from "../../packages/server/src/factors/responses.ts";
import { type Expected, verifyAuthentication, verifyRegistration } from "../../packages/server/src/factors/webauthn.ts";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { person } from "../harness/fixtures.ts";
import {
	beginPasskey,
	type HeldForm,
	holdForm,
	isIn,
	isRefused,
	makePasskey,
	type PasskeySeat,
	signOut,
	startPasskeys,
	usePasskey,
} from "../harness/passkeys.ts";

const { at } = startPasskeys();

/** Lets the page ask for a passkey whose holder nobody verifies. */
const NO_LOCK = `for (const { dataset } of document.querySelectorAll("[data-passkey]"))
	dataset.options = JSON.stringify({ ...JSON.parse(dataset.options), userVerification: "discouraged" });`;

/** Sends a held form by hand. @returns its status, and the refusal that it shows */
async function send(
	{ server }: PasskeySeat,
	held: HeldForm,
	changes: { cookie?: string; form?: Record<string, string> } = {},
) {
	const { path, cookie, form } = held;
	const headers = { ...ours(server), cookie: changes.cookie ?? cookie };
	const { status, text } = await ask(server, "POST", path, headers, { ...form, ...changes.form });
	return [status, /role="alert">([^<]*)/.exec(text)?.[1]];
}

/** Takes the purpose of an answer from the browser, the challenge from the answer itself. */
function expectedOf({ server }: PasskeySeat, { response }: RegistrationResponse | AuthenticationResponse): Expected {
	const { challenge } = JSON.parse(Buffer.from(response.clientDataJSON, "base64url").toString()) as {
		challenge: string;
	};
	return { origin: server.url, rp_id: "localhost", isChallenge: (one) => one === challenge };
}

/** Gives a new passkey an attestation, by a certificate that is none. */
function attested(created: RegistrationResponse): RegistrationResponse {
	const bytes = Buffer.from(created.response.attestationObject, "base64url").toString("latin1");
	const changed = bytes.replace("cfmtdnone", "cfmtkandroid-key").replace("gattStmt\xa0", "gattStmt\xa1cx5c\x81A\x00");
	assert.notEqual(changed, bytes);
	const attestationObject = Buffer.from(changed, "latin1").toString("base64url");
	return { ...created, response: { ...created.response, attestationObject } };
}

const wrongOnes = (right: Expected): Expected[] => [
	{ ...right, rp_id: "svc.example.com" },
	{ ...right, origin: "https://svc.example.com" },
	{ ...right, isChallenge: () => false },
];

/** Makes a passkey, signs out, and holds what the authenticator signs for the sign-in. */
async function holdSignIn(seat: PasskeySeat): Promise<HeldForm> {
	await makePasskey(seat);
	await signOut(seat);
	return holdForm(seat, () => usePasskey(seat));
}

at("an authenticator that has not verified its holder signs nobody in", async (seat) => {
	await makePasskey(seat);
	await signOut(seat);
	await seat.setVerified(false);
	await usePasskey(seat);
	await seat.page.getByRole("status").getByText("No passkey was used").waitFor();
	await seat.page.evaluate(NO_LOCK);
	await seat.page.getByRole("button", { name: "Use a passkey" }).click();
	await isRefused(seat, "the passkey was not accepted");
	await seat.setVerified(true);
	await usePasskey(seat);
	await isIn(seat);
});

at("what a passkey signed is good once, in the browser that asked, and for nobody else", async (seat) => {
	const { server, client, root, who } = seat;
	const held = await holdSignIn(seat);
	const wrong = "the passkey was not accepted: try again, or sign in with your password";
	const other = await ask(server, "GET", "/console/sign-in/passkey");
	const foreign = (other.headers["set-cookie"] ?? []).map((one) => one.split(";")[0]).join("; ");
	assert.match(foreign, /^__Host-svc-passkey=[\w-]{22}$/);
	for (const cookie of ["", foreign, `${held.cookie}; ${foreign}`])
		assert.deepEqual(await send(seat, held, { cookie }), [401, wrong], cookie);
	const eve = await person(client, "eve");
	const answer = JSON.parse(held.answer);
	const userHandle = Buffer.from(eve.id).toString("base64url");
	const altered = (response: object) => ({
		passkey: JSON.stringify({ ...answer, response: { ...answer.response, ...response } }),
	});
	assert.deepEqual(await send(seat, held, { form: altered({ userHandle }) }), [401, wrong], "another account");
	const signature = Buffer.from(answer.response.signature, "base64url");
	signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
	const forged = altered({ signature: signature.toString("base64url") });
	assert.deepEqual(await send(seat, held, { form: forged }), [401, wrong], "another signature");
	assert.deepEqual(await send(seat, held), [303, undefined], "its own browser");
	assert.deepEqual(await send(seat, held), [401, wrong], "again");
	const failed = await events(client, root, `type=auth.login.failed&actor=${who.id}`);
	assert.ok(failed.length > 0 && failed.every(({ data }) => data.method === "passkey" && data.reason === "passkey"));
});

at("malformed answers are refused without an echo, and repeated guesses have to wait", async (seat) => {
	const held = await holdSignIn(seat);
	for (const passkey of ["", "hunter2", "{}", "[]", '{"id":"hunter2"}', JSON.stringify({ id: "x".repeat(5000) })]) {
		const [status, text] = await send(seat, held, { form: { passkey } });
		assert.equal(status, 400, passkey);
		assert.doesNotMatch(String(text), /hunter2|xxx/);
	}
	const answer = JSON.parse(held.answer);
	const guess = { passkey: JSON.stringify({ ...answer, id: "AAAA", rawId: "AAAA" }) };
	let [status] = await send(seat, held, { form: guess });
	for (let tries = 0; tries < 20 && status === 401; tries++) [status] = await send(seat, held, { form: guess });
	assert.equal(status, 429);
	assert.equal((await send(seat, held))[0], 429, "the right one, too");
});

at("a new passkey is for the session and account that asked for it, once", async (seat) => {
	const { server, client, who } = seat;
	const session = await enter(server, who);
	const eve = await person(client, "eve");
	const hers = await enter(server, eve);
	await beginPasskey(seat);
	const press = () => seat.page.getByRole("button", { name: "Make the passkey now" }).click();
	const held = await holdForm(seat, press);
	const begin = async (as: { cookie: string }, password: string) => {
		const form_token = await tokenOf(server, as);
		const form = { action: "add-passkey", name: "phone", current_password: password, form_token };
		await ask(server, "POST", held.path, { ...ours(server), ...as }, form);
		const { text } = await ask(server, "GET", held.path, as);
		return {
			form_token,
			id: /name="action" value="confirm-passkey"><input type="hidden" name="id" value="([\w-]+)"/.exec(text)?.[1] ?? "",
		};
	};
	const elsewhere = { ...session, form: { form_token: await tokenOf(server, session) } };
	assert.equal((await send(seat, held, elsewhere))[0], 404, "another session");
	assert.doesNotMatch((await ask(server, "GET", held.path, session)).text, /confirm-passkey/, "nothing to make there");
	assert.equal((await send(seat, held, { ...hers, form: await begin(hers, eve.password) }))[0], 403, "another account");
	const foreign = { ...hers, form: { form_token: await tokenOf(server, hers) } };
	assert.equal((await send(seat, held, foreign))[0], 404, "another account's factor");
	const confirm = () => client.post(`/auth/factors/${held.form.id}/confirm`, { code: "000000" }, { token: who.token });
	refused(await confirm(), 404, "not_found");
	assert.deepEqual(await send(seat, held), [303, undefined], "its own session");
	assert.equal((await send(seat, held))[0], 404, "again");
	refused(await confirm(), 401);
});

at("a passkey for another host, page, challenge or algorithm is refused, and so is what it signs", async (seat) => {
	await beginPasskey(seat);
	const made = await holdForm(seat, () => seat.page.getByRole("button", { name: "Make the passkey now" }).click());
	const created = JSON.parse(made.answer) as RegistrationResponse;
	const right = expectedOf(seat, created);
	const passkey = await verifyRegistration(created, ALGORITHMS, right);
	assert.ok(passkey !== undefined);
	assert.equal(await verifyRegistration(created, [-257], right), undefined);
	// Of this format the library asks addresses that the given certificates name, before it trusts them.
	assert.deepEqual(
		await verifyRegistration(attested(created), ALGORITHMS, right),
		passkey,
		"no attestation is looked at",
	);
	for (const wrong of wrongOnes(right)) assert.equal(await verifyRegistration(created, ALGORITHMS, wrong), undefined);

	await seat.page.goto(`${seat.server.url}/console`);
	await signOut(seat);
	const held = await holdForm(seat, () => usePasskey(seat));
	const signed = JSON.parse(held.answer) as AuthenticationResponse;
	const expected = expectedOf(seat, signed);
	assert.ok(Number(await verifyAuthentication(signed, passkey.public_key, expected)) > passkey.count);
	for (const wrong of wrongOnes(expected))
		assert.equal(await verifyAuthentication(signed, passkey.public_key, wrong), undefined);
	const { public_key } = (await verifyRegistration(created, ALGORITHMS, right)) ?? assert.fail();
	public_key[public_key.length - 1] = (public_key.at(-1) ?? 0) ^ 1;
	assert.equal(await verifyAuthentication(signed, public_key, expected), undefined, "another key");
});

at("nobody signs in to a disabled account with a passkey", async (seat) => {
	const { client, root, who } = seat;
	const held = await holdSignIn(seat);
	const act = (verb: string) => client.post(`/users/${who.id}/${verb}`, undefined, { token: root.token });
	ok(await act("disable"));
	assert.equal((await send(seat, held))[0], 401);
	ok(await act("enable"));
	assert.deepEqual(await send(seat, held), [303, undefined], "it was not used up");
});
