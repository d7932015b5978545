/* Input that no engine can use: over HTTP, with all five engines, and without any effect at a target. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer, RequestOptions } from "../harness/client.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type FakeOrchestrator, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";
import { type FakeMongo, startFakeMongo } from "../peers/mongo-fake.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

type What = "generate" | "validate";

/** An engine, params that it accepts, and the names of those that are texts. */
interface Subject {
	readonly type: string;
	readonly generate: object;
	readonly validate: object;
	readonly texts: Readonly<Record<What, readonly string[]>>;
}

const SUBJECTS: readonly Subject[] = [
	{
		type: "keyvalue",
		generate: { role: "readonly" },
		validate: { username: "svc_0000abcd" },
		texts: { generate: ["role", "ttl"], validate: ["username"] },
	},
	{
		type: "documentdb",
		generate: { database: "app" },
		validate: { username: "svc_0000abcd" },
		texts: { generate: ["role", "ttl", "database", "auth_database"], validate: ["username", "auth_database"] },
	},
	{
		type: "containerorch",
		generate: { role: "viewer" },
		validate: { service_account: "svc-0000abcd" },
		texts: { generate: ["role", "ttl", "namespace"], validate: ["service_account", "namespace"] },
	},
	{
		type: "pki",
		generate: { common_name: "app.example.com" },
		validate: { certificate: "none" },
		texts: { generate: ["role", "ttl", "common_name"], validate: ["certificate"] },
	},
	{
		type: "totp",
		generate: { issuer: "svc", account: "ada" },
		validate: { secret: "GEZDGNBVGY3TQOJQ", code: "000000" },
		texts: { generate: ["issuer", "account"], validate: ["secret", "code"] },
	},
];

let world: EngineWorld;
let redis: Redis | undefined;
let mongo: FakeMongo;
let orchestrator: FakeOrchestrator;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	mongo = await startFakeMongo();
	ends.defer(mongo.stop);
	orchestrator = await startFakeOrchestrator();
	ends.defer(orchestrator.stop);
	redis = skipWithoutRedis === false ? await startRedis() : undefined;
	ends.defer(() => redis?.stop());
	world = await startEngineWorld();
	ends.defer(world.close);
	const { url: api_server, token: bearer_token, ca: ca_cert } = orchestrator;
	ok(await world.configure("documentdb", { connection_uri: mongo.uri, database: "app" }));
	ok(await world.configure("containerorch", { api_server, bearer_token, ca_cert }));
	if (redis) ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
});

const optionsOf = ({ type }: Subject) => ({ skip: type === "keyvalue" && skipWithoutRedis });

/** Effects at the targets, and the content of the ledger. */
async function traces(): Promise<unknown> {
	const commands = mongo.commands.filter((command) => "createUser" in command || "dropUser" in command);
	const calls = orchestrator.calls.filter(({ method }) => method !== "GET");
	const open = (await world.leases()).filter(({ state }) => state !== "aborted");
	return [await redis?.users(), commands.length, calls.length, open.length];
}

function send({ type }: Subject, what: What, options: RequestOptions): Promise<Answer<ErrorBody>> {
	const { token } = world.admin;
	return world.client.post(`/realms/${world.slug}/engines/${type}/${what}`, undefined, { token, ...options });
}

/** Asks with these params added to good ones. Fails when a refusal changed something or its message cannot be displayed. */
async function ask(subject: Subject, what: What, params: object): Promise<Answer<ErrorBody>> {
	const before = await traces();
	const answer = await send(subject, what, { raw: JSON.stringify({ ...subject[what], ...params }) });
	if (answer.status === 200) return answer;
	refused(answer, 400);
	assert.doesNotMatch(answer.body.error.message, /\p{C}/u);
	assert.deepEqual(await traces(), before);
	return answer;
}

const TTLS: unknown[] = ["0s", "-1h", "1ns", "9999999h", "1h 1h", "", 5, "NaN", "1e3h", " 1h", "1H", "h", "1", {}, []];
for (const subject of SUBJECTS.filter(({ texts }) => texts.generate.includes("ttl"))) {
	for (const ttl of TTLS) {
		test(`${subject.type}: the ttl ${JSON.stringify(ttl)} is refused`, optionsOf(subject), async () => {
			const answer = await ask(subject, "generate", { ttl });
			refused(answer, 400, subject.type === "pki" ? "engine_error" : "invalid_ttl");
			assert.match(
				answer.body.error.message,
				typeof ttl === "string" ? /^invalid ttl: .*\S/ : /^invalid (?:ttl|params): /,
			);
		});
	}

	test(`${subject.type}: the ttl null is the usual one`, optionsOf(subject), async () => {
		ok(await ask(subject, "generate", { ttl: null }));
	});
}

const CANARY = "canary-of-bad-input";
const CONTROLS = ["\r\nFLUSHALL\r\n", "\n", "\0", "\u001b[2J", "\u2028", "\u202e"];
const QUOTES = ["'", '"', "`", "\\", " >x +@all", "';--", "$(id)", "../../", "<script>", "%0d%0a", "{}"];

/** Params for which such a text is as good as any other, or makes the subject of the request invalid. */
const TOLERANT: Readonly<Record<string, readonly string[]>> = {
	// An unknown role counts as a server. Spec: ENGINES › Errors
	role: ["pki"],
	common_name: ["pki"],
	certificate: ["pki"],
	issuer: ["totp"],
	account: ["totp"],
	secret: ["totp"],
	code: ["totp"],
};

for (const subject of SUBJECTS) {
	for (const what of ["generate", "validate"] as const) {
		for (const name of subject.texts[what]) {
			test(
				`${subject.type} ${what}: line breaks, NUL and quotes in ${name} do nothing`,
				optionsOf(subject),
				async () => {
					const isTolerant = TOLERANT[name]?.includes(subject.type) === true;
					for (const bad of [...CONTROLS, ...QUOTES]) {
						const answer = await ask(subject, what, { [name]: CANARY + bad });
						if (!isTolerant) refused(answer, 400);
						if (what === "validate" && answer.status === 200)
							assert.equal((answer.body as object as Valid).valid, false);
						const isShown = name === "role" && subject.type !== "pki";
						if (answer.status === 400) assert.equal(answer.text.includes(CANARY), isShown, answer.text);
					}
				},
			);

			test(
				`${subject.type} ${what}: a ${name} that is no text is refused, with its name`,
				optionsOf(subject),
				async () => {
					for (const value of [5, true, {}, [], { $ne: null }]) {
						const answer = await ask(subject, what, { [name]: value });
						refused(answer, 400);
						assert.match(
							answer.body.error.message,
							new RegExp(`^(?:(?:parsing|invalid) params: ${name} |invalid ttl: )`),
						);
					}
				},
			);
		}
	}
}

interface Valid {
	readonly valid: boolean;
}

const LABELS: [type: string, name: string][] = [
	["totp", "issuer"],
	["totp", "account"],
	["pki", "common_name"],
];
for (const [type, name] of LABELS) {
	test(`${type}: a ${name} has no control characters`, async () => {
		const subject = SUBJECTS.find((one) => one.type === type) ?? assert.fail();
		for (const bad of ["\r\n", "\n", "\0", "\u001b[2J"])
			refused(await ask(subject, "generate", { [name]: CANARY + bad }), 400);
	});
}

/** Members that belong to the core, that change the object they are copied into, or that belong in answers. */
const POISON = [
	'"_lease":{"id":"x","name":"svc-99999999"},"_":1',
	'"__proto__":{"role":"admin","ttl":"1ns"},"constructor":{"prototype":{"role":"admin"}},"toString":1',
	'"kv_command":"FLUSHALL","doc_command":{"dropDatabase":1}',
].join();

const BODIES: [what: string, options: RequestOptions][] = [
	["none", {}],
	["empty", { raw: "" }],
	["null", { raw: "null" }],
	["a list", { raw: "[]" }],
	["a list with params", { raw: '[{"role":"readonly"}]' }],
	["a text", { raw: '"role"' }],
	["a number", { raw: "5" }],
	["cut off", { raw: '{"role":"readonly"' }],
	["two objects", { raw: "{}{}" }],
	["with a param twice", { raw: '{"role":"readonly","role":"admin"}' }],
	["no UTF-8", { raw: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }],
	["nested too deep", { raw: `{"a":${"[".repeat(1000)}${"]".repeat(1000)}}` }],
	["a form", { raw: "role=readonly", headers: { "content-type": "application/x-www-form-urlencoded" } }],
	["called a text", { raw: "{}", headers: { "content-type": "text/plain" } }],
];
for (const subject of SUBJECTS) {
	test(
		`${subject.type}: a body that is no JSON object is refused, and so is one that is too large`,
		optionsOf(subject),
		async () => {
			const before = await traces();
			for (const what of ["generate", "validate"] as const) {
				for (const [, options] of BODIES) refused(await send(subject, what, options), 400);
				for (const bytes of [256 * 1024, 1024 * 1024]) {
					const raw = JSON.stringify({ ...subject[what], filling: CANARY.padEnd(bytes, "x") });
					const answer = await send(subject, what, { raw });
					refused(answer, 413, "payload_too_large");
					assert.ok(!answer.text.includes(CANARY));
				}
			}
			assert.deepEqual(await traces(), before);
		},
	);

	test(`${subject.type}: reserved, poisonous and unknown params mean nothing`, optionsOf(subject), async () => {
		const raw = `{${POISON},${JSON.stringify(subject.generate).slice(1)}`;
		const answer = await send(subject, "generate", { raw });
		assert.doesNotMatch(JSON.stringify(ok(answer)), /99999999|FLUSHALL|dropDatabase|_lease/);
		if (answer.headers["x-lease-id"] === undefined) return;
		const { role, name } = await world.leaseOf(answer);
		assert.match(role, /^read|^viewer$/);
		assert.notEqual(name, "svc-99999999");
	});
}

test("the log keeps no more of an unknown role than a role's name may be long", async () => {
	const role = CANARY.padEnd(200 * 1024, "x");
	for (const subject of SUBJECTS.filter(({ type }) => ["containerorch", "pki"].includes(type)))
		await ask(subject, "generate", { role });
	const said = await events(world.client, world.admin, "type=engine.generate");
	const written = said.map(({ data }) => String(data.role)).filter((text) => text.startsWith(CANARY));
	assert.ok(written.length >= 2, "both wrote it down");
	assert.deepEqual(
		written.filter((text) => text.length > 101),
		[],
	);
	assert.deepEqual(
		(await world.leases()).filter((lease) => lease.role.length > 101),
		[],
	);
});

test("an engine and a realm that are asked for must exist", async () => {
	const { client, admin, slug } = world;
	const { token } = admin;
	for (const type of ["nothing", "KEYVALUE", "keyvalue%0d%0a", "__proto__", "constructor", "..%2fpki", CANARY]) {
		for (const what of ["generate", "validate"]) {
			const answer = await client.post(`/realms/${slug}/engines/${type}/${what}`, {}, { token });
			refused(answer, 404, "not_found");
			assert.ok(!answer.text.includes(CANARY));
		}
	}
	refused(await client.post("/realms/no-such-realm/engines/pki/generate", {}, { token }), 404, "not_found");
	refused(await client.post(`/realms/${slug}/engines/pki/generate`, {}), 401, "unauthorized");
});

test("no request reached a namespace that is not for it, and every engine still answers", async () => {
	const orch = SUBJECTS.find(({ type }) => type === "containerorch") ?? assert.fail();
	for (const namespace of ["kube-system", "kube-public", "other"]) {
		refused(await ask(orch, "generate", { namespace }), 400, "validation_failed");
		refused(await ask(orch, "validate", { namespace }), 400, "validation_failed");
	}
	const elsewhere = orchestrator.calls.filter(
		({ path }) => path.includes("namespaces/") && !/namespaces\/default\b/.test(path),
	);
	assert.deepEqual(elsewhere, []);
	for (const subject of SUBJECTS.filter((one) => optionsOf(one).skip === false)) ok(await ask(subject, "generate", {}));
});
