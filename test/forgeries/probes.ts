import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { makeToken } from "../../packages/server/src/crypto/api-token.ts";
import type { Answer, Api } from "../harness/client.ts";
import { secretPath } from "../harness/fixtures.ts";
import { requestsWithEndedCodes } from "./codes.ts";
import { PASSKEYS } from "./offline-rows.ts";
import { type ForgedWorld, VALUES } from "./world.ts";

/** A token that a forger made as the server does: its digest can be written into a row. */
export const FORGED_TOKEN = makeToken(randomBytes);

/** Tells whether an answer is what was asked for. An unexpected error is no refusal. */
function isServed({ status, text }: Answer): boolean {
	assert.doesNotMatch(text, /"internal_error"/, "an unexpected error");
	return status < 300;
}

/** Asks for what the log says has ended, or was never granted. @throws AssertionError when it is granted */
export async function askTheDead(world: ForgedWorld, api: Api): Promise<void> {
	const { slug, mallorys, people, ended, old_password, codes, machines } = world;
	const { mallory, viewer, ex, changer, disabled, root } = people;
	const denied = async (what: string, asked: Promise<Answer>) => {
		const answer = await asked;
		assert.ok(!isServed(answer), `${what}: ${answer.status} ${answer.text.slice(0, 200)}`);
	};
	for (const token of [...ended, machines.ended.token, FORGED_TOKEN.token])
		await denied("a token that is none", api.get("/realms", { token }));
	for (const { token } of [mallory, ex, disabled])
		await denied("a secret of others", api.get(`${secretPath(slug, "FIRST")}?env=prod`, { token }));
	for (const { token } of [mallory, viewer]) await denied("all accounts", api.get("/users", { token }));
	const written = { key: "FORGED", value: "forged" };
	await denied("a viewer's write", api.post(`/realms/${slug}/secrets`, written, { token: viewer.token }));
	const other = api.get(`${secretPath(slug, "FIRST")}?env=prod`, { token: world.operator });
	await denied("another environment than the token's", other);
	for (const env of ["dev", "prod"]) {
		for (const key of ["FIRST", "SECOND"]) {
			const { text } = await api.get(`${secretPath(mallorys, key)}?env=${env}`, { token: mallory.token });
			assert.doesNotMatch(text, /first value|second value|another realm/, "a value of another realm");
		}
	}
	await Promise.all([
		denied("a JWT that was used", api.post("/auth/jwt", machines.used)),
		denied("a JWT of a trust that ended", api.post("/auth/jwt", machines.byFormerTrust())),
		...requestsWithEndedCodes(people, codes).map(([what, path, body]) => denied(what, api.post(path, body))),
	]);
	// Each costs 100 ms and more, except where nothing is believed.
	const logins = [
		[changer.email, old_password],
		[root.email, mallory.password],
	];
	for (const [email, password] of logins) await denied("a password", api.post("/auth/login", { email, password }));
}

/** Tells whether a server refuses because it found an alteration. */
function isError(answer: Answer): boolean {
	return !isServed(answer) && answer.status >= 500;
}

/** Reads what is valid. @throws AssertionError when an operator gets less, or anybody another value */
export async function askTheLiving({ slug, people, operator, machines }: ForgedWorld, api: Api): Promise<void> {
	for (const [env, values, token] of [
		["dev", VALUES.dev, operator],
		["dev", VALUES.dev, machines.token],
		["dev", VALUES.dev, people.owner.token],
		["prod", VALUES.prod, people.owner.token],
	] as const) {
		const all = await api.get<{ data: object }>(`/eso/${slug}?env=${env}`, { token });
		if (!isError(all)) assert.deepEqual([all.status, all.body.data], [200, values], all.text);
		const one = await api.get<{ value: string }>(`/eso/${slug}/FIRST?env=${env}`, { token });
		if (!isError(one)) assert.match(one.text, new RegExp(values.FIRST));
	}
	const { token } = people.holder;
	const listed = await api.get<{ factors: { name: string; rp_id: string }[] }>("/auth/factors", { token });
	if (listed.status === 200)
		assert.deepEqual(Object.fromEntries(listed.body.factors.map(({ name, rp_id }) => [name, rp_id])), PASSKEYS);
}
