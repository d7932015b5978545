import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { type Engine, serveEngine } from "@svc/plugin-sdk";
import { Secret, TOTP, URI } from "otpauth";
import { create } from "qrcode";
import { createTotpEngine } from "./engine.ts";

/** The key of RFC 6238 appendix B, `12345678901234567890`. */
const KEY = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
/** The last six of the eight digits of its SHA-1 column. */
const VECTORS: readonly (readonly [seconds: number, code: string])[] = [
	[59, "287082"],
	[1_111_111_109, "081804"],
	[1_111_111_111, "050471"],
	[1_234_567_890, "005924"],
	[2_000_000_000, "279037"],
	[20_000_000_000, "353130"],
];
const CODE = "005924";
const at = (seconds: number) => createTotpEngine(() => seconds * 1000);

/** The engine's response to one request, through the wire's own framing. */
async function ask(to: Engine, method: string, params: unknown) {
	let response = "";
	const stdin = Readable.from([Buffer.from(`${JSON.stringify({ method, params })}\n`)]);
	await serveEngine(to, { stdin, stdout: { write: (text) => (response += text) } });
	return JSON.parse(response);
}

for (const [seconds, code] of VECTORS) {
	test(`the code of RFC 6238 at ${seconds} s is valid, and a code one digit off is not`, async () => {
		const wrong = code.slice(0, 5) + ((Number(code[5]) + 1) % 10);
		assert.deepEqual(await ask(at(seconds), "validate", { secret: KEY, code }), { data: { valid: true } });
		assert.deepEqual(await ask(at(seconds), "validate", { secret: KEY, code: wrong }), { data: { valid: false } });
	});
}

test("a code is valid in its own thirty seconds, those before and those after", async () => {
	const start = 1_234_567_890;
	for (const [seconds, valid] of [
		[start - 30.001, false],
		[start - 30, true],
		[start, true],
		[start + 59.999, true],
		[start + 60, false],
	] as const)
		assert.deepEqual((await ask(at(seconds), "validate", { secret: KEY, code: CODE })).data, { valid }, `${seconds}`);
});

const VALIDATED: readonly (readonly [secret: string, code: string, valid: boolean])[] = [
	["  gezd gnbv gy3t qojq\tGEZD GNBV GY3T QOJQ ", " 005 924\n", true],
	[`${KEY}======`, CODE, true],
	[KEY, "05924", false],
	[KEY, "0005924", false],
	[KEY, "005-924", false],
	[KEY, "abcdef", false],
	[KEY, "+05924", false],
	[KEY, "٠٠٥٩٢٤", false],
	[KEY, "００５９２４", false],
	[KEY, "00592４", false],
	[`${KEY}1`, CODE, false],
	["münchen", CODE, false],
	["AA", CODE, false],
];

for (const [secret, code, valid] of VALIDATED) {
	test(`the secret ${JSON.stringify(secret)} with the code ${JSON.stringify(code)} is ${valid ? "" : "not "}valid`, async () => {
		assert.deepEqual(await ask(at(1_234_567_890), "validate", { secret, code }), { data: { valid } });
	});
}

test("text that is not base32 is not a secret, even where a lenient reader finds one", async () => {
	const timestamp = 1_234_567_890_000;
	for (const [text, read] of [
		["ſſſſ", "SSSS"],
		["A", ""],
		["=", ""],
	] as const) {
		const code = TOTP.generate({ secret: Secret.fromBase32(read), timestamp });
		const { data } = await ask(at(timestamp / 1000), "validate", { secret: text, code });
		assert.equal(data.valid, false, text);
	}
});

test("a new secret is 160 random bits in base32, and its codes are valid", async () => {
	const { data } = await ask(createTotpEngine(), "generate", { issuer: "Acme", account: "ada@example.com" });
	assert.deepEqual(Object.keys(data), ["secret", "url", "qr_code"]);
	assert.match(data.secret, /^[A-Z2-7]{32}$/);
	assert.equal(
		data.url,
		`otpauth://totp/Acme:ada%40example.com?issuer=Acme&secret=${data.secret}&algorithm=SHA1&digits=6&period=30`,
	);
	const code = new TOTP({ secret: Secret.fromBase32(data.secret) }).generate();
	assert.deepEqual(await ask(createTotpEngine(), "validate", { secret: data.secret, code }), { data: { valid: true } });
	const next = await ask(createTotpEngine(), "generate", { issuer: "Acme", account: "ada@example.com" });
	assert.notEqual(next.data.secret, data.secret);
});

test("an authenticator reads the issuer and the account as they were given", async () => {
	for (const [issuer, account] of [
		["Acme: Shop", "ada@example.com"],
		["Acme", "team:ada"],
		["Ümlaut & Söhne?", "a/b#c%2F +=😀"],
		["é".repeat(64), "😀".repeat(63)],
	] as const) {
		const { data } = await ask(createTotpEngine(), "generate", { issuer, account });
		const read = URI.parse(data.url);
		assert.deepEqual([read.issuer, read.label, read.secret.base32], [issuer, account, data.secret]);
		assert.ok(read instanceof TOTP);
	}
});

test("the image is the QR code of the URL, large enough for a camera", async () => {
	for (const account of ["ada", "é".repeat(127)]) {
		const { data } = await ask(createTotpEngine(), "generate", { issuer: "Acme", account });
		const [head, base64] = data.qr_code.split(",");
		assert.equal(head, "data:image/png;base64");
		const image = readPng(Buffer.from(base64, "base64"));
		const { modules } = create(data.url, {});
		const scale = image.length / (modules.size + 8);
		assert.ok(image.length >= 200 && Number.isInteger(scale));
		for (const [y, row] of image.entries()) {
			for (const [x, isDark] of row.entries()) {
				const [column, line] = [Math.floor(x / scale) - 4, Math.floor(y / scale) - 4];
				const isInside = Math.min(column, line) >= 0 && Math.max(column, line) < modules.size;
				if (isDark !== (isInside && modules.get(line, column) === 1)) assert.fail(`pixel ${x}, ${y}`);
			}
		}
	}
});

const REFUSED: readonly (readonly [method: string, params: unknown, begin: string])[] = [
	["generate", { account: "a" }, "issuer is required"],
	["generate", { issuer: " ", account: "a" }, "issuer is required"],
	["generate", { issuer: "i" }, "account is required"],
	["generate", { issuer: "i", account: null }, "account is required"],
	["generate", { issuer: 1, account: "a" }, "invalid params: issuer "],
	["generate", { issuer: "i\n", account: "a" }, "invalid params: issuer "],
	["generate", { issuer: "i", account: "\ud800" }, "invalid params: account "],
	["generate", { issuer: "i".repeat(129), account: "a" }, "invalid params: issuer "],
	["generate", { issuer: "i", account: "é".repeat(128) }, "invalid params: account "],
	["validate", {}, "secret is required"],
	["validate", { secret: "  ", code: CODE }, "secret is required"],
	["validate", { secret: KEY }, "code is required"],
	["validate", { secret: KEY, code: "" }, "code is required"],
	["validate", { secret: KEY, code: 5924 }, "invalid params: code "],
];

for (const [method, params, begin] of REFUSED) {
	test(`${method} with ${JSON.stringify(params).slice(0, 60)} is refused: ${begin}`, async () => {
		const { error, ...others } = await ask(createTotpEngine(), method, params);
		assert.ok(error.startsWith(begin), error);
		assert.deepEqual(others, {});
	});
}

test("the engine works as the server starts it, with few permissions and an empty environment", () => {
	const root = join(import.meta.dirname, "../..");
	const flags = ["--permission", "--disallow-code-generation-from-strings", "--disable-proto=delete"];
	const requests = [
		{ method: "describe", params: {} },
		{ method: "ping", params: {} },
		{ method: "generate", params: { issuer: "Acme", account: "ada" } },
	];
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[...flags, `--allow-fs-read=${root}`, join(import.meta.dirname, "main.ts")],
		{ input: `${requests.map((request) => JSON.stringify(request)).join("\n")}\n`, env: {}, encoding: "utf8" },
	);
	assert.deepEqual([status, stderr], [0, ""]);
	const [described, pinged, generated] = stdout
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	assert.deepEqual(described.data.capabilities, ["secret_generation", "secret_validation"]);
	assert.deepEqual(pinged, { data: { status: "healthy" } });
	assert.match(generated.data.qr_code, /^data:image\/png;base64,/);
});

/** Reads the pixels of a PNG of eight bits and four channels without interlacing, true for dark ones. */
function readPng(png: Buffer): boolean[][] {
	const [width, height, channels] = [png.readUInt32BE(16), png.readUInt32BE(20), 4];
	assert.deepEqual([...png.subarray(24, 29)], [8, 6, 0, 0, 0]);
	const parts: Buffer[] = [];
	for (let chunk = 8; chunk < png.length; chunk += png.readUInt32BE(chunk) + 12)
		if (png.toString("latin1", chunk + 4, chunk + 8) === "IDAT")
			parts.push(png.subarray(chunk + 8, chunk + 8 + png.readUInt32BE(chunk)));
	const data = inflateSync(Buffer.concat(parts));
	let above = Buffer.alloc(width * channels);
	return Array.from({ length: height }, (_, y) => {
		const start = y * (above.length + 1);
		const row = unfilter(data.readUInt8(start), data.subarray(start + 1, start + 1 + above.length), above, channels);
		above = row;
		return Array.from({ length: width }, (_, x) => (row[x * channels] ?? 0) < 128);
	});
}

/** RFC 2083 §6. */
function unfilter(filter: number, line: Buffer, above: Buffer, step: number): Buffer<ArrayBuffer> {
	const row = Buffer.from(line);
	for (const [x, value] of line.entries()) {
		const [a, b, c] = [row[x - step] ?? 0, above[x] ?? 0, above[x - step] ?? 0];
		const nearest = [a, b, c].sort((one, other) => Math.abs(a + b - c - one) - Math.abs(a + b - c - other))[0] ?? 0;
		row[x] = value + ([0, a, b, Math.floor((a + b) / 2), nearest][filter] ?? 0);
	}
	return row;
}
