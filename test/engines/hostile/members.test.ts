/* Members' actions on a third party's engine affect only themselves, and nothing keeps the core from revoking and listing. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, api } from "../../harness/client.ts";
import { type EngineWorld, eventually, startEngineWorld } from "../../harness/engine-world.ts";
import { events } from "../../harness/events.ts";
import { ok, refused } from "../../harness/expect.ts";
import { type Person, person, realm } from "../../harness/fixtures.ts";
import { installEngine } from "../../harness/install-engine.ts";

const CANARY = "canary0123456789canary";

/** Ends when a request says so; answers with commands when a request says that. */
const engine = (type: string, capabilities: string) => `#!/bin/sh
while IFS= read -r line; do
  case $line in
    *'"method":"describe"'*) echo '{"data":{"name":"${type}","version":"0.1.0","display_name":"Engine","description":"Nothing","capabilities":[${capabilities}]}}' ;;
    *'"method":"ping"'*) echo '{"data":{"status":"healthy"}}' ;;
    *'"method":"list"'*) echo '{"data":{"names":[]}}' ;;
    *'"poison":"made"'*) exit 3 ;;
    *'"how":"poison"'*) echo '{"data":{"token":"made","poison":"made"}}' ;;
    *'"how":"crash"'*) exit 3 ;;
    *'"how":"after"'*) echo '{"data":{"valid":true}}'; exit 3 ;;
    *'"how":"slow"'*) sleep 0.2; echo '{"data":{"valid":true}}' ;;
    *'"how":"kv"'*) echo '{"data":{"username":"svc_01234567","kv_command":"ACL SETUSER svc_01234567 on >${CANARY}"}}' ;;
    *'"how":"doc"'*) echo '{"data":{"username":"svc_01234567","doc_command":{"pwd":"${CANARY}"}}}' ;;
    *) echo '{"data":{"valid":true,"message":"done"}}' ;;
  esac
done
`;

/** Enough failures to open a breaker. */
const MANY = 6;

let world: EngineWorld;
let other: Person;
let slug: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	const folder = await mkdtemp(join(tmpdir(), "svc-engines-"));
	ends.defer(() => rm(folder, { recursive: true, force: true }));
	const install = (type: string, declared: string[], described: string[]) => {
		const text = engine(type, described.map((name) => `"${name}"`).join(","));
		const about = {
			display_name: "Engine",
			description: "Nothing",
			capabilities: declared.map((name) => `engine:${name}`),
		};
		return installEngine(folder, type, { file: "engine.sh", text }, about);
	};
	await install("shelf", ["dynamic_credentials", "lease_hint", "list"], ["dynamic_credentials"]);
	await install("values", ["secret_generation", "secret_validation"], ["secret_generation", "secret_validation"]);
	world = await startEngineWorld({ env: { SVC_PLUGINS_DIR: folder } });
	ends.defer(world.close);
	other = await person(world.client, "other");
	({ slug } = await realm(world.client, other));
});

const asOther = (path: string, body: object): Promise<Answer> =>
	world.client.post(`/realms/${slug}/engines/${path}`, body, { token: other.token });

const revoke = async (made: Answer) =>
	world.client.delete(`/realms/${world.slug}/leases/${String(made.headers["x-lease-id"])}`, {
		token: world.admin.token,
	});

for (const how of ["crash", "after"]) {
	test(`a realm that has an engine end ${how === "crash" ? "over" : "after"} each request is refused it, and nobody else: not another realm, and no revocation`, async () => {
		const before = [await world.generate("shelf", {}), await world.generate("shelf", {})];
		for (const made of before) ok(made);
		const answers: Answer[] = [];
		for (let round = 0; round < 2 * MANY; round++) answers.push(await asOther("shelf/generate", { how }));
		const last = answers.at(-1) ?? assert.fail();
		refused(last, 503, "engine_unavailable");
		assert.match(last.text, /\bsuspended\b/);
		const started = performance.now();
		ok(await world.generate("shelf", {}));
		ok(await world.validate("shelf", { name: await nameOf(before[0]) }));
		for (const made of before) ok(await revoke(made));
		assert.ok(performance.now() - started < 15_000, "without the pause of thirty seconds");
		refused(await asOther("shelf/generate", {}), 503, "engine_unavailable");
		const shelf = (await world.details()).engines.find(({ type }) => type === "shelf");
		assert.deepEqual([shelf?.status, shelf?.breaker], ["healthy", "closed"]);
		assert.ok((shelf?.refused_realms ?? 0) >= 1);
		({ slug } = await realm(world.client, other));
	});
}

test("an account that has an engine end in many realms is refused it in all of them, and no other account is", async () => {
	const crasher = await person(world.client, "crasher");
	const realms = await Promise.all(Array.from({ length: 5 }, () => realm(world.client, crasher)));
	const generate = (at: number, body: object, who = crasher) =>
		world.client.post(`/realms/${realms[at]?.slug}/engines/values/generate`, body, { token: who.token });
	const crashes = Array.from({ length: 16 }, (_, count) => generate(count % 4, { how: "crash" }));
	for (const answer of await Promise.all(crashes)) refused(answer, 503, "engine_unavailable");
	const answer = await generate(4, {});
	refused(answer, 503, "engine_unavailable");
	assert.match(answer.text, /\(engine_failures_per_account\)/);
	const started = performance.now();
	ok(await world.generate("values", {}));
	ok(await asOther("values/generate", {}));
	assert.ok(performance.now() - started < 10_000, "without the pause of thirty seconds");
});

test("leases whose revocation ends their engine delay no other realm's, and are reported", async () => {
	const poisoned: Answer[] = [];
	for (let count = 0; count < 12; count++) poisoned.push(await asOther("shelf/generate", { how: "poison" }));
	for (const made of poisoned) ok(made);
	const before: Answer[] = [];
	for (let count = 0; count < 6; count++) before.push(await world.generate("shelf", {}));
	ok(await world.client.delete(`/realms/${slug}`, { token: other.token }));
	const started = performance.now();
	for (let round = 0; round < 6; round++) {
		// The poisoned leases are tried again in each of these seconds.
		await sleep(1000);
		const asked = performance.now();
		ok(await revoke(before[round] ?? assert.fail()));
		assert.ok(performance.now() - asked < 2000, `round ${round}: ${Math.round(performance.now() - asked)} ms`);
	}
	assert.ok(performance.now() - started < 15_000);
	const { targets, leases, engines } = await world.details();
	assert.deepEqual(new Set(targets.map(({ status }) => status)), new Set(["healthy"]));
	assert.equal(leases.open.revoking, 12, "they go on being tried");
	assert.equal(engines.find(({ type }) => type === "shelf")?.status, "healthy");
	({ slug } = await realm(world.client, other));
});

test("an account that calls an engine from many realms at once waits, and other accounts do not", async () => {
	const realms = await Promise.all(Array.from({ length: 5 }, () => realm(world.client, other)));
	const clients = [api(world.server), api(world.server)];
	let answered = 0;
	const calls = Array.from({ length: 60 }, async (_, count) => {
		const path = `/realms/${realms[count % realms.length]?.slug}/engines/values/${count % 4 < 2 ? "generate" : "validate"}`;
		ok((await clients[count % 2]?.post(path, { how: "slow" }, { token: other.token })) ?? assert.fail());
		answered++;
	});
	const isWaiting = async () => {
		const { text } = await world.client.send("GET", "/metrics", {});
		return Number(/svc_limit_used\{limit="engine_calls_waiting_per_account"\} (\d+)/.exec(text)?.[1]) >= 20;
	};
	await eventually("all but sixteen wait", isWaiting);
	ok(await world.validate("values", {}));
	assert.ok(answered < 50, `${answered} of 60 were answered first`);
	await Promise.all(calls);
});

async function nameOf(made: Answer | undefined): Promise<string> {
	return (await world.leaseOf(made ?? assert.fail())).name;
}

test("a command of an engine that has no system of the core's is an error, and goes nowhere", async () => {
	for (const how of ["kv", "doc"]) {
		for (const [type, method] of [
			["values", "generate"],
			["values", "validate"],
			["shelf", "generate"],
		] as const) {
			const answer = await world[method](type, { how });
			refused(answer, 400, "engine_error");
			assert.doesNotMatch(answer.text, /canary|kv_command|doc_command/);
		}
	}
	const recorded = await events(world.client, world.admin);
	assert.doesNotMatch(JSON.stringify(recorded), /canary/);
	assert.doesNotMatch(world.server.stdout() + world.server.stderr(), /canary/);
});
