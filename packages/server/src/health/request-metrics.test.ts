import assert from "node:assert/strict";
import { test } from "node:test";
import { BOUNDS_S } from "./history.ts";
import { prometheus } from "./prometheus.ts";
import { addRequestMetrics } from "./request-metrics.ts";

const { Counter, Histogram, Registry } = prometheus;

test("answered requests are counted and written as prom-client does it", async () => {
	const [ours, theirs] = [new Registry(), new Registry()];
	const counts = addRequestMetrics([ours]);
	const named = { help: "Answered requests", registers: [theirs] };
	const labelNames = ["method", "route", "status"];
	const requests = new Counter({ name: "svc_http_requests_total", labelNames, ...named });
	const durations = new Histogram({
		...{ name: "svc_http_request_duration_seconds", labelNames: ["method", "route"], buckets: BOUNDS_S },
		...{ help: "Time to answer", registers: [theirs] },
	});
	const answer = (method: string, route: string, status: number, seconds: number) => {
		counts.note(method, route, status, seconds);
		requests.labels(method, route, String(status)).inc();
		durations.labels(method, route).observe(seconds);
	};
	assert.equal(await ours.metrics(), await theirs.metrics(), "before the first request");
	for (const seconds of [0, ...BOUNDS_S, 0.0300001, 7]) {
		answer("GET", "/api/v1/realms/{slug}", 200, seconds);
		answer("GET", "/api/v1/realms/{slug}", 404, seconds);
	}
	answer("POST", "none", 405, 1e-9);
	assert.equal(await ours.metrics(), await theirs.metrics());
	assert.equal(await ours.metrics(), await theirs.metrics(), "asked again");
});
