/* Gives each format to its readers: a shell, Node, our own import, YAML of both versions, kubectl, systemd. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { parseEnv } from "node:util";
import { parse } from "yaml";
import { temporaryFolder } from "../testing/terminal.ts";
import { parseDotenv } from "./dotenv.ts";
import { type Entry, EXPORT_FORMATS, problemsOf } from "./export-formats.ts";

const SECRET = { name: "shop-prod", namespace: "apps" };

/** Texts that trip up readers of one format or another. */
const PARTS: readonly string[] = [
	...`' " \` \\ \\n \\' \\" $ $HOME $\{HOME} $(id) \`id\` %s ! !! # ; & | * ~ ? [ ] { } ( ) < > : = , @ =a key=value a word`.split(
		" ",
	),
	..."yes null 0x1f 1e3 012 1:20 2001-01-01 << --- ... é 漢".split(" "),
	...[" #", ": ", "- ", "export ", " ", "  ", "\t", "\n", "\n\n", "\r", "\r\n", "\nK9=x\n", "\n# x\n", "\u001b[31m"],
	..."\0\u0007\u007f\u0085\u00a0\u2028\u202e\ufeff\ufffd\uffff\u{1f511}\u{1fffe}\ufdd0\u{10ffff}",
];

/** Repeatable random numbers (mulberry32), so that a failure can be reproduced. */
function below(seed: number): (limit: number) => number {
	let state = seed;
	return (limit) => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
	};
}

function values(): string[] {
	const chance = below(1);
	const mixed = Array.from({ length: 1500 }, () =>
		Array.from({ length: 1 + chance(6) }, () => PARTS[chance(PARTS.length)] ?? "").join(""),
	);
	const alone = PARTS.flatMap((part) => [part, `${part}a`, `a${part}`, `a${part}b`, ` ${part} `, `'${part}"`]);
	return [...alone, ...mixed, "x".repeat(5000)];
}

function formatOf(name: string) {
	const format = EXPORT_FORMATS[name];
	assert.ok(format);
	return format;
}

/** All values that the format says it can hold; tests below name the values that it refuses. */
function held(format: string): Entry[] {
	const entries = values().map((value, index) => ({ key: `K_${index}`, value }));
	return entries.filter((entry) => formatOf(format).problem(entry) === undefined);
}

const written = (format: string, entries: readonly Entry[]) => formatOf(format).write(entries, SECRET);
const asObject = (entries: readonly Entry[]) => Object.fromEntries(entries.map(({ key, value }) => [key, value]));

/** Variables that a program printed, each followed by U+0000. */
function variables(text: string): Record<string, string> {
	const lines = text.split("\0").slice(0, -1);
	return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

test("a .env file is read by svc import as what was written", () => {
	const entries = held("dotenv");
	const read = parseDotenv(written("dotenv", entries)).map(({ key, value }) => ({ key, value }));
	assert.deepEqual(read, entries);
});

test("a .env file is read by Node as what was written, as far as its quotes go", () => {
	// Node drops every U+000D, and cannot write both kinds of quotes, or a backslash next to a quote.
	const entries = held("dotenv").filter(({ value }) => !/\r|'.*["\\]|["\\].*'/s.test(value));
	assert.ok(entries.length > 500);
	assert.deepEqual({ ...parseEnv(written("dotenv", entries)) }, asObject(entries));
});

for (const shell of ["sh", "bash"]) {
	const missing = spawnSync(shell, ["-c", "true"]).error === undefined ? false : `no ${shell}`;
	test(`lines for a shell are read by ${shell} as what was written`, { skip: missing }, async () => {
		await using folder = await temporaryFolder();
		const [file, entries] = [join(folder.path, "lines"), held("shell")];
		await writeFile(file, written("shell", entries));
		const { stdout } = spawnSync(shell, ["-c", `. "$0" && exec env -0`, file], {
			env: { PATH: "/usr/bin:/bin" },
			encoding: "utf8",
		});
		const read = Object.entries(variables(stdout)).filter(([key]) => key.startsWith("K_"));
		assert.deepEqual(Object.fromEntries(read), asObject(entries));
	});
}

test("JSON and YAML of both versions hold every value and every key", () => {
	const entries = [
		...held("json"),
		...["tls/key.pem", "a-b", "yes", "1.5", "null", "__proto__"].map((key) => ({ key, value: "v" })),
	];
	assert.equal(entries.length, values().length + 6);
	assert.deepEqual(Object.entries(JSON.parse(written("json", entries))).length, entries.length);
	assert.deepEqual(JSON.parse(written("json", held("json"))), asObject(held("json")));
	for (const version of ["1.1", "1.2"] as const) {
		const read = parse(written("yaml", entries), { version, mapAsMap: true }) as Map<string, string>;
		assert.deepEqual(
			[...read],
			entries.map(({ key, value }) => [key, value]),
		);
	}
	assert.deepEqual(parse(written("yaml", [])), {});
	assert.doesNotMatch(
		(written("json", entries) + written("yaml", entries)).replaceAll("\n", ""),
		/\p{Cc}|[\u2028\u2029\u202e]/u,
	);
});

const noKubectl =
	spawnSync("kubectl", ["version", "--client"]).error === undefined
		? false
		: "kubectl is not installed: apt-get install kubernetes-client";

test("a Secret is read by kubectl as what was written", { skip: noKubectl }, () => {
	const entries = [
		...held("k8s"),
		{ key: "tls.key", value: "v" },
		{ key: "yes", value: "v" },
		{ key: "1.5", value: "v" },
	];
	for (const some of [entries, []]) {
		const { stdout, stderr } = spawnSync("kubectl", ["label", "--local", "--filename=-", "--output=json", "a=b"], {
			input: written("k8s", some),
			env: { PATH: "/usr/local/bin:/usr/bin:/bin", KUBECONFIG: "/dev/null" },
			encoding: "utf8",
		});
		assert.equal(stderr, "");
		const { kind, metadata, type, data } = JSON.parse(stdout);
		assert.deepEqual([kind, metadata.name, metadata.namespace, type], ["Secret", "shop-prod", "apps", "Opaque"]);
		const read = Object.entries<string>(data ?? {}).map(([key, value]) => [
			key,
			Buffer.from(value, "base64").toString(),
		]);
		assert.deepEqual(Object.fromEntries(read), asObject(some));
	}
	assert.doesNotMatch(formatOf("k8s").write([], { name: "x" }), /namespace/);
});

const [library] = globSync("/usr/lib/{*/,}systemd/libsystemd-shared-*.so");
const noSystemd =
	library === undefined || spawnSync("python3", ["-c", ""]).error !== undefined ? "no systemd, or no python3" : false;

test("an EnvironmentFile is read by systemd as what was written", { skip: noSystemd }, async () => {
	await using folder = await temporaryFolder();
	const [file, entries] = [join(folder.path, "file"), held("systemd")];
	await writeFile(file, written("systemd", entries));
	const program = join(import.meta.dirname, "../testing/environment-file.py");
	const { stdout, stderr } = spawnSync("python3", [program, library ?? "", file], { encoding: "utf8" });
	assert.equal(stderr, "");
	assert.deepEqual(variables(stdout), asObject(entries));
});

/** docker/cli, opts/file.go and Go's bufio.ScanLines drop blanks before a name and one U+000D at a line's end, and keep all else. */
function readAsDocker(content: string): Record<string, string> {
	const lines = content.split("\n").map((line) => line.replace(/\r$/, "").replace(/^\s+/u, ""));
	const pairs = lines.filter((line) => line !== "" && !line.startsWith("#"));
	return Object.fromEntries(pairs.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

test("a file for docker is read by its rules as what was written", () => {
	const entries = held("docker");
	assert.deepEqual(readAsDocker(written("docker", entries)), asObject(entries));
});

const REFUSED: readonly (readonly [format: string, entry: Entry, problem: string])[] = [
	["dotenv", { key: "K", value: "a\0" }, "K holds U+0000, which no variable can"],
	["shell", { key: "K", value: "a\0" }, "K holds U+0000, which no variable can"],
	["shell", { key: "tls/key", value: "a" }, "tls/key is no variable's name"],
	["shell", { key: "1K", value: "a" }, "1K is no variable's name"],
	["systemd", { key: "a-b", value: "a" }, "a-b is no variable's name"],
	["systemd", { key: "K", value: "a\u0007" }, "K holds a character that systemd refuses"],
	["systemd", { key: "K", value: "\u{1fffe}" }, "K holds a character that systemd refuses"],
	["docker", { key: "K", value: "a\nb" }, "K holds a line break"],
	["docker", { key: "K", value: "a\r" }, "K holds a line break"],
	["docker", { key: "K", value: "x".repeat(65_534) }, "K is longer than a line may be"],
	["k8s", { key: "tls/key", value: "a" }, "tls/key is no key of a Secret, which has letters, digits, - _ ."],
	["k8s", { key: "..a", value: "a" }, "..a is no key of a Secret, which has letters, digits, - _ ."],
];

for (const [name, entry, problem] of REFUSED) {
	test(`${name} refuses: ${problem}`, () => {
		assert.deepEqual(problemsOf(formatOf(name), [{ key: "FINE", value: "a" }, entry]), [problem]);
	});
}

test("docker takes a line of 64 KiB, and a Secret values of 1 MiB together", () => {
	const [docker, k8s] = [formatOf("docker"), formatOf("k8s")];
	assert.deepEqual(problemsOf(docker, [{ key: "K", value: "x".repeat(65_533) }]), []);
	const quarter = "x".repeat(256 * 1024);
	const entries = ["A", "B", "C", "D"].map((key) => ({ key, value: quarter }));
	assert.deepEqual(problemsOf(k8s, entries), []);
	assert.match(problemsOf(k8s, [...entries, { key: "E", value: "x" }]).join(), /\b1 MiB\b/);
});
