import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { login, type Person, person } from "../harness/fixtures.ts";
import { type HoldingServer, startHoldingServer } from "./door.ts";

const THIEFS = "the password of a thief";
const OWNERS = "the new password of the owner";

let holding: HoldingServer;
let client: Api;
let root: Person;

before(async () => {
	holding = await startHoldingServer();
	client = api(holding.server);
	root = await person(client, "root");
});
after(() => holding.server.close());

/** Makes somebody whose password a thief has learned, and the thief's session. */
async function robbed(): Promise<{ owner: Person; thief: string }> {
	const owner = await person(client, "owner");
	return { owner, thief: await login(client, owner) };
}

function change(token: string, { password }: Person, new_password: string): Promise<Answer> {
	return client.post("/auth/password", { current_password: password, new_password }, { token });
}

const opens = async ({ email }: Person, password: string) =>
	(await client.post("/auth/login", { email, password })).status === 200;

test("the owner's change that is answered first ends the one of a thief that was decided before it", async () => {
	const { owner, thief } = await robbed();
	const { answer, held } = await holding.during(
		() => change(thief, owner, THIEFS),
		async () => ok(await change(owner.token, owner, OWNERS)),
	);
	assert.equal(held, "accounts.setPassword");
	refused(answer, 401, "unauthorized");
	assert.deepEqual([await opens(owner, OWNERS), await opens(owner, THIEFS)], [true, false]);
});

test("the second of two changes of one session finds another password", async () => {
	const { owner, thief } = await robbed();
	const { answer } = await holding.during(
		() => change(thief, owner, THIEFS),
		async () => ok(await change(thief, owner, OWNERS)),
	);
	refused(answer, 403, "wrong_password");
	assert.deepEqual([await opens(owner, OWNERS), await opens(owner, THIEFS)], [true, false]);
});

test("revoking what somebody holds ends a change of the password that was decided before it", async () => {
	const { owner, thief } = await robbed();
	const { answer } = await holding.during(
		() => change(thief, owner, THIEFS),
		async () => ok(await client.post("/revoke", { user_id: owner.id }, { token: root.token })),
	);
	refused(answer, 401, "unauthorized");
	assert.deepEqual([await opens(owner, owner.password), await opens(owner, THIEFS)], [true, false]);
});

test("disabling and enabling an account ends a change of its password that was decided before it", async () => {
	const { owner, thief } = await robbed();
	const { answer } = await holding.during(
		() => change(thief, owner, THIEFS),
		async () => {
			for (const verb of ["disable", "enable"])
				ok(await client.post(`/users/${owner.id}/${verb}`, undefined, { token: root.token }));
		},
	);
	refused(answer, 401, "unauthorized");
	assert.deepEqual([await opens(owner, owner.password), await opens(owner, THIEFS)], [true, false]);
});

test("exactly one of several simultaneous changes is made, and its password is valid", async () => {
	const owner = await person(client, "owner");
	const sessions = [owner.token, await login(client, owner), await login(client, owner)];
	const wanted = [...sessions, owner.token].map((token, index) => ({ token, password: `new password No. ${index}` }));
	const answers = await Promise.all(wanted.map(({ token, password }) => change(token, owner, password)));
	const made = wanted.filter((_, index) => answers[index]?.status === 200);
	assert.equal(made.length, 1, answers.map(({ text }) => text).join("\n"));
	for (const { status } of answers) assert.ok([200, 401, 403].includes(status), `${status}`);
	assert.ok(await opens(owner, made[0]?.password ?? ""));
});
