import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import dashboard from "../../docs/monitoring/grafana.json" with { type: "json" };
import { fileOf, textOf } from "./markdown.ts";

const FOLDER = fileURLToPath(new URL("../../docs/monitoring", import.meta.url));
const SCHEMA = fileURLToPath(new URL("grafana-dashboard.ts", import.meta.url));
const STRICT = "--noEmit --strict --target esnext --module nodenext --allowImportingTsExtensions --skipLibCheck".split(
	" ",
);
const skip = spawnSync("promtool", ["--version"]).status === 0 ? false : "promtool is not installed";

/** Metrics of docs/metrics.md, with the labels of each. */
const METRICS = new Map(
	[...textOf("docs/metrics.md").matchAll(/^\| `(svc_\w+)` +\| ([^|]*)\|/gm)].map(([, name = "", labels = ""]) => [
		name,
		[...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
	]),
);

const asked = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
const alerts = [...textOf("docs/monitoring/alerts.yml").matchAll(/expr: (.*)$/gm)].map(([, expr = ""]) => expr);

test("alerts and dashboard ask for metrics that the server has, by labels that these have", () => {
	assert.ok(alerts.length > 10 && asked.length > 10);
	for (const expression of [...alerts, ...asked])
		for (const [, name = "", labels = ""] of expression.matchAll(/\b(svc_\w+?)(?:_bucket)?\b(?:\{(.*?)\})?/g)) {
			const known = METRICS.get(name);
			assert.ok(known, `${name} is a metric`);
			for (const [, label] of labels.matchAll(/(\w+)(?:=|!)/g))
				assert.ok(known.includes(label), `${name} has ${label}`);
		}
});

test("promtool finds the alerts well-formed, and that they fire when they should", { skip }, () => {
	execFileSync("promtool", ["check", "rules", "alerts.yml"], { cwd: FOLDER, stdio: "pipe" });
	execFileSync("promtool", ["test", "rules", "alerts.test.yml"], { cwd: FOLDER, stdio: "pipe" });
});

test("promtool can read what the dashboard asks", { skip }, () => {
	const folder = mkdtempSync(join(tmpdir(), "svc-dashboard-"));
	const rules = asked.map((expression, index) => ({
		record: `panel:${index}`,
		expr: expression.replaceAll("$__rate_interval", "5m"),
	}));
	writeFileSync(join(folder, "rules.yml"), JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
	execFileSync("promtool", ["check", "rules", "rules.yml"], { cwd: folder, stdio: "pipe" });
	rmSync(folder, { recursive: true });
});

/** Words of the dashboard, each with another that Grafana does not know. */
const UNKNOWN = [
	['"colorMode": "value"', '"colorMode": "shade"'],
	['"gridPos"', '"gridpos"'],
	['"calcs"', '"calculations"'],
	['"mode": "absolute"', '"mode": "relative"'],
	['"type": "timeseries"', '"type": "timeserie"'],
] as const;

test("Grafana's own schema takes the dashboard, and none with a word that Grafana does not know", () => {
	const folder = mkdtempSync(join(tmpdir(), "svc-schema-"));
	const right = textOf("docs/monitoring/grafana.json");
	const write = (name: string, json: string) => {
		const text = `import type { GrafanaDashboard } from ${JSON.stringify(SCHEMA)};\nexport default ${json.trim()} satisfies GrafanaDashboard;\n`;
		writeFileSync(join(folder, name), text);
		return name;
	};
	const wrong = UNKNOWN.map(([known, unknown], at) => write(`wrong-${at}.mts`, right.replace(known, unknown)));
	const { stdout } = spawnSync(fileOf("node_modules/.bin/tsc"), [...STRICT, write("right.mts", right), ...wrong], {
		cwd: folder,
		encoding: "utf8",
	});
	rmSync(folder, { recursive: true });
	const refused = new Set([...stdout.matchAll(/^(\S+)\(\d/gm)].map(([, name]) => name));
	assert.deepEqual(refused, new Set(wrong), stdout);
});

test("the dashboard's panels have what Grafana needs, and their own place", () => {
	const places = new Set<string>();
	assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
	for (const { type, title, datasource, gridPos, targets } of dashboard.panels) {
		assert.ok(["stat", "timeseries"].includes(type) && title !== "");
		assert.deepEqual(datasource, { type: "prometheus", uid: `\${${dashboard.templating.list[0]?.name}}` });
		assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length);
		assert.ok(gridPos.x + gridPos.w <= 24, title);
		for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
			for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
				assert.ok(!places.has(`${x},${y}`), `${title} lies over another panel`);
				places.add(`${x},${y}`);
			}
	}
});
