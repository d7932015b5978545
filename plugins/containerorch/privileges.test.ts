import assert from "node:assert/strict";
import { test } from "node:test";
import { startBench } from "./testing.ts";

type Right = { name: string; status: string; message: string; hint: string };

test("every right is asked for in the engine's namespace and in others, and nothing is made", async (t) => {
	const { fake, privileges } = await startBench(t);
	const { privileges: rights } = (await privileges({ places: ["apps", "default", "a/b"] })) as { privileges: Right[] };
	assert.deepEqual(
		rights.map(({ name }) => name),
		[
			"get namespaces default in default",
			...["default", "apps"].flatMap((namespace) =>
				[
					...["create", "delete", "get", "list"].map((verb) => `${verb} serviceaccounts`),
					"create serviceaccounts/token",
					...["create", "delete"].map((verb) => `${verb} rolebindings`),
					...["view", "edit", "admin"].map((role) => `bind clusterroles ${role}`),
				].map((right) => `${right} in ${namespace}`),
			),
		],
	);
	assert.deepEqual(new Set(rights.map(({ status }) => status)), new Set(["granted"]));
	assert.deepEqual(new Set(fake.steps()), new Set(["review"]));
	assert.equal(fake.objects.size, 0);
});

test("what is denied is missing where credentials need it, else doubtful", async (t) => {
	const { fake, privileges } = await startBench(t, { env: { SVC_ORCH_TOKEN_TTL: "5m" } });
	fake.denied.add("create serviceaccounts/token in default").add("list serviceaccounts in default");
	const { privileges: rights } = (await privileges({})) as { privileges: Right[] };
	assert.deepEqual(
		rights.filter(({ status }) => status !== "granted").map(({ name, status }) => [name, status]),
		[
			["list serviceaccounts in default", "doubtful"],
			["create serviceaccounts/token in default", "missing"],
			["token_ttl", "missing"],
		],
	);
});

test("an API server that does not say fails as a whole, without the token", async (t) => {
	const { fake, privileges } = await startBench(t);
	fake.fault("review", { does: "answer", status: 403, body: fake.token });
	await assert.rejects(privileges({}), {
		name: "EngineError",
		message:
			/^asking for rights: POST \/apis\/authorization\.k8s\.io\/v1\/selfsubjectaccessreviews: status 403: \*{8}$/,
	});
});
