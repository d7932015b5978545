import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { fewAtOnce, PASSWORD, type Person, person, unique } from "../harness/fixtures.ts";
import type { ApiToken, Login, User } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { isPlain, isText, NAUGHTY_STRINGS } from "./naughty-strings.ts";

const NAME_BYTES = 255;
/** Tries only one in this many of the accepted e-mails, because registering costs a password hash. */
const STRIDE = 4;

let server: Server;
let client: Api;
let alice: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
});
after(() => server.close());

function register(body: object): Promise<Answer<User>> {
	return client.post("/auth/register", { email: `${unique("naughty")}@example.test`, password: PASSWORD, ...body });
}

/** Returns the plain strings, several per name, because one name each would cost one password hash each. */
function plainNames(): string[] {
	const names: string[] = [];
	for (const text of NAUGHTY_STRINGS.filter(isPlain)) {
		const longer = `${names.at(-1) ?? ""} ${text}`;
		if (names.length > 0 && Buffer.byteLength(longer) <= NAME_BYTES) names[names.length - 1] = longer;
		else names.push(text);
	}
	return names;
}

/** Returns the canonical form of an e-mail, or undefined when it is invalid; invisible characters count as controls. Design: §7.2. */
function canonical(email: string): string | undefined {
	if (!isText(email)) return;
	const plain = email.normalize("NFKC").trim().toLowerCase();
	const isEmail = /^[^@]+@[^@]+$/.test(plain) && !/[\s\p{C}]/u.test(plain) && plain.length <= 254;
	return isEmail ? plain : undefined;
}

test("every plain string comes back as part of a person's name", async () => {
	await fewAtOnce(plainNames(), async (name) => {
		const email = `${unique("named")}@example.test`;
		assert.equal(ok(await register({ email, name }), 201).name, name);
		const answer = await client.post<Login>("/auth/login", { email, password: PASSWORD });
		assert.equal(ok(answer).user.name, name);
	});
});

test("every other string is refused as a person's name, kept, or blank", async () => {
	const others = NAUGHTY_STRINGS.filter((text) => !isPlain(text));
	await fewAtOnce(others, async (name) => {
		const answer = await register({ name });
		if (answer.status === 400) return refused(answer, 400);
		assert.ok(isText(name), "a lone surrogate is refused");
		const { name: kept, email } = ok(answer, 201);
		assert.ok(kept === name || (name.trim() === "" && kept === email), JSON.stringify([name, kept]));
	});
});

test("every string is part of an e-mail when the rule for e-mails says so, and else it is refused", async () => {
	const emails = NAUGHTY_STRINGS.flatMap((text) => [`${text}@naughty.test`, text]);
	const accepted = emails.filter((email) => canonical(email) !== undefined).filter((_, index) => index % STRIDE === 0);
	const refusedOnes = emails.filter((email) => canonical(email) === undefined);
	const failures = await fewAtOnce([...accepted, ...refusedOnes], async (email) => {
		const answer = await register({ email });
		const expected = canonical(email);
		const isRight = expected === undefined ? answer.status === 400 : answer.body.email === expected;
		return isRight ? [] : [`${JSON.stringify(email.slice(0, 60))}: ${answer.status} ${answer.text.slice(0, 120)}`];
	});
	assert.deepEqual(failures.flat(), []);
});

test("every string comes back as the name of a token, or is refused", async () => {
	const { token } = alice;
	const kept: string[] = [];
	for (const name of NAUGHTY_STRINGS) {
		const answer = await client.post<ApiToken>("/auth/tokens", { name }, { token });
		if (answer.status === 400 && !isPlain(name)) continue;
		assert.equal(ok(answer, 201).name, name);
		kept.push(name);
	}
	const listed: string[] = [];
	for (let cursor: string | undefined = ""; cursor !== undefined; ) {
		const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
		const answer = await client.get<{ tokens: ApiToken[]; pagination: { next_cursor?: string } }>(
			`/auth/tokens?limit=100${query}`,
			{ token },
		);
		listed.push(...ok(answer).tokens.map(({ name }) => name));
		cursor = answer.body.pagination.next_cursor;
	}
	assert.deepEqual(new Set(listed), new Set(kept));
});

test("every string as a token is refused like any other wrong one", async () => {
	const wrong = await client.get("/realms", { token: "wrong" });
	for (const text of NAUGHTY_STRINGS) {
		// A header cannot hold characters beyond Latin-1 or control characters.
		if (!/^[\x20-\x7e\x80-\xff]+$/.test(text)) continue;
		const answer = await client.get("/realms", { headers: { authorization: `Bearer ${text}` } });
		assert.deepEqual([answer.status, answer.text], [wrong.status, wrong.text], text);
	}
});
