/* Changes of second factors, held between their decision and their transaction: what ends meanwhile decides. Design: §13, §16 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { PASSWORD, type Person, person } from "../harness/fixtures.ts";
import { nextCode } from "../harness/totp.ts";
import { type HoldingServer, startHoldingServer } from "./door.ts";
import { everythingStored } from "./stored.ts";

let holding: HoldingServer;
let client: Api;
let root: Person;

before(async () => {
	holding = await startHoldingServer();
	client = api(holding.server);
	root = await person(client, "root");
});
after(() => holding.server.close());

/** A change that its owner may make now. */
interface Change {
	method: string;
	path: string;
	body: object;
}

async function pending({ token }: Person): Promise<Change & { id: string }> {
	const body = { type: "totp", current_password: PASSWORD };
	const { id, secret } = ok(await client.post<{ id: string; secret: string }>("/auth/factors", body, { token }), 201);
	return { id, method: "POST", path: `/api/v1/auth/factors/${id}/confirm`, body: { code: await nextCode(secret) } };
}

/** Adds a factor. @returns its id, and the proof that the next change asks for */
async function withFactor(who: Person): Promise<{ id: string; proof: object }> {
	const { id, method, path, body } = await pending(who);
	const answer = await client.send<{ recovery_codes: string[] }>(method, path, {
		token: who.token,
		raw: JSON.stringify(body),
	});
	const [code = ""] = ok(answer).recovery_codes;
	return { id, proof: { current_password: PASSWORD, code } };
}

const CHANGES: Readonly<Record<string, (who: Person) => Promise<Change>>> = {
	"a factor is not confirmed": pending,
	async "a factor is not removed"(who) {
		const { id, proof } = await withFactor(who);
		return { method: "DELETE", path: `/api/v1/auth/factors/${id}`, body: proof };
	},
	async "recovery codes are not made"(who) {
		return { method: "POST", path: "/api/v1/auth/recovery-codes", body: (await withFactor(who)).proof };
	},
	async "a password is not changed with a code"(who) {
		const body = { ...(await withFactor(who)).proof, new_password: `another ${PASSWORD}` };
		return { method: "POST", path: "/api/v1/auth/password", body };
	},
};

const ENDS: Readonly<Record<string, (who: Person) => Promise<unknown>>> = {
	"its session is ended": async ({ token }) => ok(await client.post("/auth/logout", undefined, { token })),
	"its account is disabled": async ({ id }) =>
		ok(await client.post(`/users/${id}/disable`, undefined, { token: root.token })),
};

const everything = () => everythingStored(holding.server.data);

for (const [title, prepare] of Object.entries(CHANGES)) {
	for (const [why, end] of Object.entries(ENDS)) {
		test(`${title} when ${why} while that is decided and not made`, async () => {
			const who = await person(client, "held");
			const { method, path, body } = await prepare(who);
			let before: object = {};
			const { answer } = await holding.during(
				() => client.send(method, path, { token: who.token, raw: JSON.stringify(body) }),
				async () => {
					await end(who);
					before = everything();
				},
			);
			refused(answer, 401, "unauthorized");
			assert.deepEqual(everything(), before);
		});
	}
}

test("a change that was held succeeds when nothing ended meanwhile", async () => {
	for (const [title, prepare] of Object.entries(CHANGES)) {
		const who = await person(client, "let");
		const { method, path, body } = await prepare(who);
		const send = () => client.send(method, path, { token: who.token, raw: JSON.stringify(body) });
		const { answer } = await holding.during(send, async () => undefined);
		assert.ok(answer.status < 300, `${title}: ${answer.text}`);
	}
});
