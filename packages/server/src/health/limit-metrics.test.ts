import assert from "node:assert/strict";
import { test } from "node:test";
import { createLimits } from "../limits.ts";
import { addLimitMetrics } from "./limit-metrics.ts";
import { prometheus } from "./prometheus.ts";

test("every limit shows what is in use, what it allows and how often it refused, as it is at that moment", async () => {
	const limits = createLimits();
	const registry = new prometheus.Registry();
	addLimitMetrics({ limits }, [registry]);
	let used = 3;
	let refused = 0;
	limits.add({ name: "slots", max: 32, used: () => used, refused: () => refused, hint: "" });
	limits.add({ name: "bytes", max: 64, used: async () => 5, hint: "" });
	const series = async () =>
		(await registry.metrics()).split("\n").filter((line) => !line.startsWith("#") && line !== "");
	await series();
	used = 4;
	refused = 7;
	assert.deepEqual(await series(), [
		'svc_limit_used{limit="slots"} 4',
		'svc_limit_used{limit="bytes"} 5',
		'svc_limit_max{limit="slots"} 32',
		'svc_limit_max{limit="bytes"} 64',
		'svc_limit_refused_total{limit="slots"} 7',
	]);
});
