/* An engine with one flaw, for the tests of the tests: `node broken-engine.ts <flaw>`. Without a flaw it keeps the contract. */
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";

const flaw = process.argv[2] ?? "none";

const DESCRIPTION: Record<string, unknown> = {
	name: flaw === "another name" ? "other" : "sample",
	version: "0.1.0",
	display_name: "Sample",
	description: "An engine for tests",
	capabilities: flaw === "a capability too few" ? ["secret_generation"] : ["secret_generation", "secret_validation"],
};

/** Texts written in place of the response's line. */
const LINES: Record<string, (line: string) => string | Buffer> = {
	"two responses": (line) => line + line,
	"a log line": (line) => `${line}answered\n`,
	"an empty line": (line) => `${line}\n`,
	"half a line more": (line) => `${line}{`,
	"a pretty response": (line) => `${JSON.stringify(JSON.parse(line), null, 2)}\n`,
	"no line feed": (line) => line.trimEnd(),
	"data and error": (line) => line.replace(/}\n$/, ',"error":null}\n'),
	"an error that is an object": (line) => line.replace(/"error":("[^"]*")/, '"error":{"message":$1}'),
	"no UTF-8": () => Buffer.from('{"error":"\xe9"}\n', "latin1"),
	"an endless line": (line) => line + "x".repeat(3 * 1024 * 1024),
};

let state = 0;

function answer(line: string): object {
	const request = parse(line);
	if (flaw === "a response late by one") state++;
	const { method, params = {} } = request as { method?: string; params?: Record<string, string> };
	if (flaw === "params of any kind" ? false : typeof params !== "object" || Array.isArray(params)) {
		return { error: "invalid params" };
	}
	if (flaw === "no unknown params" && Object.keys(params).some((name) => name.includes("unknown"))) {
		return { error: "invalid params" };
	}
	if (flaw === "a prototype to change") Object.assign(DESCRIPTION, params);
	return respond(method, params);
}

function parse(line: string): unknown {
	if (flaw === "an end at bad JSON") return JSON.parse(line);
	try {
		const request = JSON.parse(line);
		if (typeof request === "object" && request !== null) return request;
	} catch {}
	return flaw === "describe for bad JSON" ? { method: "describe" } : { method: "bad" };
}

function respond(method: string | undefined, params: Record<string, string>): object {
	switch (method) {
		case "describe":
			return flaw === "an error for the second describe" && state++ > 0 ? { error: "again?" } : { data: DESCRIPTION };
		case "ping":
			return { data: { status: flaw === "an ill ping" ? "unwell" : "healthy" } };
		case "generate":
			if (flaw === "an end at generate") process.exit(7);
			return flaw === "an echo" && "role" in params
				? { error: `unknown role ${params.role}` }
				: { data: { value: "1" } };
		case "validate":
			if (flaw === "a fall at nonsense" && "username" in params) throw new Error("fall");
			return { data: { valid: params.value === "1", message: "" } };
		case "privileges":
			return flaw === "wrong privileges"
				? { data: { privileges: [{ name: "fly", status: "perhaps", message: "", hint: "" }] } }
				: { error: "no privileges" };
		case "list":
			return flaw === "a wrong list" ? { data: { names: { a: 1 } } } : { error: "no list" };
		default:
			return flaw === "data for all" ? { data: {} } : { error: "unknown method" };
	}
}

async function serve(line: string): Promise<void> {
	if (flaw === "silence") return;
	if (flaw === "slow last words" && line.includes("padding")) await setTimeout(300);
	const text = `${JSON.stringify(answer(line))}\n`;
	process.stdout.write(LINES[flaw]?.(text) ?? text);
	if (flaw === "one shot") process.exit(0);
	if (flaw === "one bad shot") process.exit(1);
}

if (flaw === "a greeting") process.stdout.write("sample 0.1.0\n");
if (flaw === "an early end") process.exit(3);
if (flaw === "a life of its own") globalThis.setInterval(() => {}, 1000);
if (flaw === "slow last words") process.stdin.on("end", () => process.exit(0));

let held = "";
process.stdin.on("data", (chunk) => {
	const isWhole = flaw === "a chunk for a line";
	const lines = isWhole ? [chunk.toString(), ""] : (held + chunk).split("\n");
	held = lines.pop() ?? "";
	if (flaw === "a small buffer" && held.length > 65_536) process.exit(1);
	for (const line of lines) void serve(line);
});
await once(process.stdin, "end");
