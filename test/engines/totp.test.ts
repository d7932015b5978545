import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { bind, person } from "../harness/fixtures.ts";
import type { ErrorBody } from "../harness/resources.ts";

interface Secret {
	secret: string;
	url: string;
	qr_code: string;
}

/** The key of RFC 6238 appendix B, `12345678901234567890`. */
const KEY = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const STEP_MS = 30_000;

let world: EngineWorld;
before(async () => {
	world = await startEngineWorld();
});
after(() => world.close());

const generate = (params: object) => world.generate<Secret>("totp", params);
const validate = (params: object) => world.validate<{ valid: boolean }>("totp", params);

/** The last digits of the code for a step of thirty seconds: RFC 4226 §5.3, reimplemented because the engine's library cannot vouch for itself. */
function codeOf(secret: string, step: number, digits = 6): string {
	const bits = [...secret].map((letter) =>
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"),
	);
	const bytes = bits.join("").match(/.{8}/g) ?? [];
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(step));
	const mac = createHmac("sha1", Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))))
		.update(counter)
		.digest();
	const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7f_ff_ff_ff;
	return String(number % 10 ** digits).padStart(digits, "0");
}

/** Validates the code that is this many steps away. Asks again when a step began in the meantime. */
async function isValid(secret: string, away: number, write = (code: string) => code): Promise<boolean> {
	const step = Math.floor(Date.now() / STEP_MS);
	const answer = ok(await validate({ secret, code: write(codeOf(secret, step + away)) }));
	fields(answer, ["valid"]);
	return Math.floor(Date.now() / STEP_MS) === step ? answer.valid : isValid(secret, away, write);
}

/** RFC 6238 appendix B, SHA-1: these prove that `codeOf` can be trusted. */
const VECTORS: [seconds: number, code: string][] = [
	[59, "94287082"],
	[1_111_111_109, "07081804"],
	[1_111_111_111, "14050471"],
	[1_234_567_890, "89005924"],
	[2_000_000_000, "69279037"],
	[20_000_000_000, "65353130"],
];

test("codes by the vectors of RFC 6238 are valid now, a step before and a step after, and no further", async () => {
	for (const [seconds, code] of VECTORS) assert.equal(codeOf(KEY, Math.floor(seconds / 30), 8), code);
	const found = new Map<number, boolean>();
	for (const away of [-1000, -3, -2, -1, 0, 1, 2, 3, 1000]) found.set(away, await isValid(KEY, away));
	const valid = [...found].filter(([, isIt]) => isIt).map(([away]) => away);
	assert.deepEqual(valid, [-1, 0, 1]);
	for (const [, code] of VECTORS) assert.deepEqual(ok(await validate({ secret: KEY, code })), { valid: false });
});

test("a new secret is 160 bits in base32, its URL is for an authenticator, and its codes are valid", async () => {
	const answer = await generate({ issuer: "Acme", account: "ada@example.com" });
	const made = ok(answer);
	fields(made, ["secret", "url", "qr_code"]);
	assert.match(made.secret, /^[A-Z2-7]{32}$/);
	const { protocol, host, pathname, searchParams } = new URL(made.url);
	assert.deepEqual([protocol, host, decodeURIComponent(pathname)], ["otpauth:", "totp", "/Acme:ada@example.com"]);
	assert.deepEqual(Object.fromEntries(searchParams), {
		...{ issuer: "Acme", secret: made.secret, algorithm: "SHA1", digits: "6", period: "30" },
	});
	assert.match(made.qr_code, /^data:image\/png;base64,iVBORw0KGgo[A-Za-z0-9+/]+=*$/);
	assert.equal(answer.headers["x-lease-id"], undefined);
	assert.deepEqual(await world.leases(), []);
	assert.equal(await isValid(made.secret, 0), true);
	const next = ok(await generate({ issuer: "Acme", account: "ada@example.com" }));
	assert.notEqual(next.secret, made.secret);
	assert.equal(await isValid(next.secret, 0, () => codeOf(made.secret, Math.floor(Date.now() / STEP_MS))), false);
	const written = world.server.stdout() + world.server.stderr();
	for (const { secret } of [made, next]) assert.ok(!written.includes(secret), "it is in no log");
});

const WRITTEN: [how: string, write: (code: string) => string, valid: boolean][] = [
	["with spaces", (code) => ` ${code.slice(0, 3)} ${code.slice(3)}\t`, true],
	["with a line break", (code) => `${code}\r\n`, true],
	["without its last digit", (code) => code.slice(0, 5), false],
	["without its first digit", (code) => code.slice(1), false],
	["with a digit more", (code) => `${code}0`, false],
	["with a zero before", (code) => `0${code}`, false],
	["twice", (code) => code + code, false],
	["with a hyphen", (code) => `${code.slice(0, 3)}-${code.slice(3)}`, false],
	["with a plus sign", (code) => `+${code}`, false],
	["with NUL", (code) => `${code}\0`, false],
	["in Arabic digits", (code) => code.replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit))), false],
	["in wide digits", (code) => code.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))), false],
	["in letters", () => "abcdef", false],
	["of eight digits", () => codeOf(KEY, Math.floor(Date.now() / STEP_MS), 8), false],
];
for (const [how, write, valid] of WRITTEN) {
	test(`the right code ${how} is ${valid ? "" : "not "}valid, with status 200`, async () => {
		assert.equal(await isValid(KEY, 0, write), valid);
	});
}

const SECRETS: [secret: string, valid: boolean][] = [
	[KEY.toLowerCase(), true],
	[KEY.replace(/(.{4})/g, "$1 "), true],
	[`${KEY}======`, true],
	[`${KEY}1`, false],
	[KEY.replace("G", "0"), false],
	["münchen", false],
	["A", false],
	["====", false],
	["'; --", false],
];
for (const [secret, valid] of SECRETS) {
	test(`the secret ${JSON.stringify(secret)} ${valid ? "is that of the code" : "is no secret, which is no error"}`, async () => {
		const answered = async (): Promise<boolean> => {
			const step = Math.floor(Date.now() / STEP_MS);
			const answer = ok(await validate({ secret, code: codeOf(KEY, step) }));
			return Math.floor(Date.now() / STEP_MS) === step ? answer.valid : answered();
		};
		assert.equal(await answered(), valid);
	});
}

const REFUSED: [what: "generate" | "validate", params: object, begin: string][] = [
	["generate", {}, "issuer is required"],
	["generate", { issuer: " ", account: "ada" }, "issuer is required"],
	["generate", { issuer: "Acme" }, "account is required"],
	["generate", { issuer: "Acme", account: null }, "account is required"],
	["generate", { issuer: 5, account: "ada" }, "invalid params: issuer "],
	["generate", { issuer: "Acme", account: ["ada"] }, "invalid params: account "],
	["generate", { issuer: "Ac\r\nme", account: "ada" }, "invalid params: issuer "],
	["generate", { issuer: "Acme", account: "ada\0" }, "invalid params: account "],
	["generate", { issuer: "x".repeat(129), account: "ada" }, "invalid params: issuer "],
	["generate", { issuer: "Acme", account: "é".repeat(128) }, "invalid params: account "],
	["validate", {}, "secret is required"],
	["validate", { secret: "", code: "123456" }, "secret is required"],
	["validate", { secret: KEY }, "code is required"],
	["validate", { secret: KEY, code: " " }, "code is required"],
	["validate", { secret: KEY, code: 123_456 }, "invalid params: code "],
	["validate", { secret: { $ne: "" }, code: "123456" }, "invalid params: secret "],
];
for (const [what, params, begin] of REFUSED) {
	test(`${what} ${JSON.stringify(params).slice(0, 60)} is refused: ${begin}`, async () => {
		const answer = await world[what]<ErrorBody>("totp", params);
		refused(answer, 400, "engine_error");
		assert.ok(answer.body.error.message.startsWith(begin), answer.body.error.message);
	});
}

test("issuers and accounts of any script come back from the URL as they were given", async () => {
	for (const [issuer, account] of [
		["Ümlaut & Söhne?", "a/b#c%2F +=😀"],
		["Acme: Shop", "ada@example.com"],
		["é".repeat(64), "😀".repeat(63)],
	] as const) {
		const { url } = ok(await generate({ issuer, account }));
		const { pathname, searchParams } = new URL(url);
		assert.equal(searchParams.get("issuer"), issuer);
		assert.ok(decodeURIComponent(pathname).endsWith(account), url);
	}
});

test("any member of the realm may use it, and it takes no configuration", async () => {
	const viewer = await person(world.client, "viewer");
	await bind(world.client, world.admin, world.slug, viewer, "viewer");
	const path = `/realms/${world.slug}/engines/totp/`;
	const { token } = viewer;
	ok(await world.client.post(`${path}generate`, { issuer: "Acme", account: "ada" }, { token }));
	ok(await world.client.post(`${path}validate`, { secret: KEY, code: "123456" }, { token }));
	refused(await world.client.post(`${path}validate`, { secret: KEY, code: "123456" }), 401, "unauthorized");
	assert.equal(ok(await world.configure("totp", {})).status, "healthy");
	refused(await world.configure("totp", { digits: 8 }), 400, "validation_failed");
});
