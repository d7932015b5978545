import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { PASSWORD, type Person, person, realm } from "../harness/fixtures.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const RUN = "\u0301\u0323".repeat(16);
const MAIL = `a${RUN}@example.test`;

let server: Server;
let client: Api;
let ada: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
});
after(() => server.close());

test("more than thirty combining marks in a row are refused wherever a text is normalized, and the answer names the field", async () => {
	const { slug } = await realm(client, ada);
	const { token, email, password } = ada;
	const encoded = encodeURIComponent(MAIL);
	const answers = {
		"email of a registration": client.post("/auth/register", { email: MAIL, password }),
		"password of a registration": client.post("/auth/register", {
			email: "b@example.test",
			password: `${PASSWORD}${RUN}`,
		}),
		"email of a login": client.post("/auth/login", { email: MAIL, password }),
		"password of a login": client.post("/auth/login", { email, password: `${PASSWORD}${RUN}` }),
		current_password: client.post("/auth/password", { current_password: RUN, new_password: password }, { token }),
		"password that is new": client.post(
			"/auth/password",
			{ current_password: password, new_password: `${PASSWORD}${RUN}` },
			{ token },
		),
		"username of a directory": client.post("/auth/ldap/corp/login", { username: `a${RUN}`, password }),
		"email of an account": client.get(`/users/${encoded}`, { token }),
		"email of an actor": client.get(`/audit/events?actor=${encoded}`, { token }),
		"email of somebody explained": client.get(`/policy/explain?realm=${slug}&user=${encoded}`, { token }),
	};
	for (const [what, pending] of Object.entries(answers)) {
		const answer = await pending;
		refused(answer, 400, "validation_failed");
		const { message } = (answer.body as ErrorBody).error;
		assert.match(message, new RegExp(`^${what.split(" ")[0]} \\b.*\\b30\\b`), what);
	}
});

test("a login with such a password says the same whether the account exists or not, and counts as no guess", async () => {
	const attempts = ["ada@nowhere.test", ada.email].map((email) =>
		client.post("/auth/login", { email, password: `${PASSWORD}${RUN}` }),
	);
	const [nobody, somebody] = await Promise.all(attempts);
	assert.equal(nobody?.text, somebody?.text);
	for (let count = 0; count < 6; count++)
		await client.post("/auth/login", { email: ada.email, password: `${PASSWORD}${RUN}` });
	ok(await client.post("/auth/login", { email: ada.email, password: ada.password }));
});
