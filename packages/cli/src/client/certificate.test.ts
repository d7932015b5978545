import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import test from "node:test";
import tls from "node:tls";
import { fingerprintOfIdentity, identityOf, page, refusal, startFake } from "../testing/fake-server.ts";
import { fakeIo, run, temporaryFolder } from "../testing/terminal.ts";
import { parseFingerprint, tlsOptions } from "./certificate.ts";
import { readSession, saveServer } from "./session.ts";

const FIRST = fingerprintOfIdentity("first");
const SECOND = fingerprintOfIdentity("second");
const LOGIN = {
	token: "session-token",
	expires_at: 2_000_000_000,
	user: { id: "u1", email: "ada@example.com", name: "Ada" },
};
const PASSWORD = { stdin: "correct horse battery\n" };

test("a fingerprint may be written in every usual way", () => {
	for (const text of [
		FIRST,
		FIRST.toLowerCase(),
		FIRST.replaceAll(":", ""),
		`SHA256:${FIRST}`,
		`sha256 Fingerprint=${FIRST}`,
		` ${FIRST} `,
	]) {
		assert.equal(parseFingerprint(text), FIRST);
	}
	for (const text of ["", "AB:CD", `${FIRST}:00`, FIRST.replace(/^./, "G")])
		assert.throws(() => parseFingerprint(text), { exitCode: 2 });
});

test("a self-signed certificate is trusted after a yes on the terminal, and then without a question", async () => {
	await using server = await startFake(({ url }) =>
		url === "/api/v1/auth/login" ? { body: LOGIN } : page("realms", []),
	);
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const login = await run(["login", "ada@example.com"], { env, typed: ["yes\n", "correct horse battery\r"] });
	assert.equal(login.code, 0, login.stderr);
	assert.ok(login.stderr.includes(FIRST));
	assert.ok(!login.stderr.includes("battery") && !login.stdout.includes(LOGIN.token));
	assert.deepEqual(
		server.requests.map(({ body }) => body),
		[{ email: "ada@example.com", password: "correct horse battery" }],
	);
	assert.equal((await run(["realm", "list"], { env })).code, 0);
	assert.equal(server.requests[1]?.headers.authorization, `Bearer ${LOGIN.token}`);
});

test("without a yes nothing is sent", async () => {
	await using server = await startFake(() => ({ body: LOGIN }));
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	assert.equal((await run(["login", "ada@example.com"], { env, typed: ["\n"] })).code, 1);
	const unattended = await run(["login", "ada@example.com", "--password-stdin"], { env, ...PASSWORD });
	assert.equal(unattended.code, 5);
	assert.match(unattended.stderr, /--fingerprint\b/);
	assert.deepEqual(server.requests, []);
});

test("unattended, --fingerprint must match and --trust-new-certificate takes what comes", async () => {
	await using server = await startFake(() => ({ body: LOGIN }));
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const login = (...flags: string[]) =>
		run(["login", "ada@example.com", "--password-stdin", ...flags], { env, ...PASSWORD });
	assert.equal((await login("--fingerprint", SECOND)).code, 5);
	assert.deepEqual(server.requests, []);
	const first = await login("--fingerprint", FIRST, "--json");
	assert.deepEqual(
		JSON.parse(first.stdout),
		{ expires_at: LOGIN.expires_at, user: LOGIN.user },
		"the token is not printed",
	);
	server.present("second");
	const changed = await login("--json");
	assert.equal(changed.code, 5);
	assert.equal(JSON.parse(changed.stderr).error.code, "certificate_changed", "it is refused without a question");
	const { io } = fakeIo({ env });
	assert.equal((await login("--trust-new-certificate")).code, 0);
	assert.equal((await readSession(io)).servers[server.address]?.trust?.certificate, identityOf("second").cert);
});

test("a changed certificate is refused before one byte of a request is sent", async () => {
	let received = 0;
	const server = tls.createServer(identityOf("second"), (socket) => {
		socket.on("data", (chunk) => {
			received += chunk.length;
		});
		socket.on("error", () => {});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	await using home = await temporaryFolder();
	const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const { io } = fakeIo({ env: { HOME: home.path } });
	await saveServer(io, address, { token: "token", trust: { kind: "pinned", certificate: identityOf("first").cert } });
	const { code, stderr } = await run(["secret", "set", "K", "hunter2", "--realm", "shop", "--json"], {
		env: { HOME: home.path },
	});
	server.close();
	await once(server, "close");
	assert.equal(code, 5);
	assert.equal(received, 0);
	const { error } = JSON.parse(stderr);
	assert.equal(error.code, "certificate_changed");
	assert.ok(error.message.includes(FIRST) && error.message.includes(SECOND));
});

for (const command of ["login ada@example.com", "register ada@example.com", "init ada@example.com", "password"]) {
	test(`svc ${command} asks for no password when the server is another one or is not there`, {
		timeout: 60_000,
	}, async () => {
		await using server = await startFake(() => ({ body: LOGIN }));
		await using home = await temporaryFolder();
		const refused = async (address: string, message: RegExp) => {
			const env = { HOME: home.path, SVC_ADDRESS: address };
			const outcome = await run(command.split(" "), { env, typed: ["correct horse battery\r"] });
			assert.equal(outcome.code, 5, outcome.stderr);
			assert.match(outcome.stderr, message);
			assert.doesNotMatch(outcome.stderr, /assword/);
		};
		const trust = { kind: "pinned", certificate: identityOf("second").cert } as const;
		const { io } = fakeIo({ env: { HOME: home.path } });
		for (const address of [server.address, "https://127.0.0.1:1", "http://127.0.0.1:1"])
			await saveServer(io, address, { trust, token: LOGIN.token });
		await refused(server.address, /^svc: .*\bcertificate\b.*\nhint: /);
		for (const address of ["https://127.0.0.1:1", "http://127.0.0.1:1"])
			await refused(address, /^svc: .*\blistens\b.*\nhint: /);
		assert.deepEqual(server.requests, []);
	});
}

test("trusting another certificate forgets the token that was got under the first", async () => {
	await using server = await startFake(() => refusal(401, "invalid_credentials", "invalid email or password"));
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const { io } = fakeIo({ env });
	await saveServer(io, server.address, {
		token: "token",
		trust: { kind: "pinned", certificate: identityOf("second").cert },
	});
	assert.equal((await run(["login", "a@b", "--password-stdin", "--fingerprint", FIRST], { env, ...PASSWORD })).code, 3);
	assert.deepEqual((await readSession(io)).servers[server.address], {
		trust: { kind: "pinned", certificate: identityOf("first").cert },
	});
});

test("a pinned certificate is not accepted as an authority over another one", async () => {
	const check = tlsOptions({ kind: "pinned", certificate: identityOf("first").cert }).checkServerIdentity;
	assert.ok(check);
	const other = new X509Certificate(identityOf("second").cert).toLegacyObject() as tls.PeerCertificate;
	assert.equal((check("127.0.0.1", other) as NodeJS.ErrnoException | undefined)?.code, "SVC_CERTIFICATE_DIFFERS");
});

test("with a token and no session, the certificate comes from a file or a fingerprint", async () => {
	await using server = await startFake(() => page("realms", []));
	await using folder = await temporaryFolder();
	const cacert = join(folder.path, "ca.pem");
	await writeFile(cacert, identityOf("first").cert);
	const other = join(folder.path, "other.pem");
	await writeFile(other, identityOf("second").cert);
	const code = async (extra: Record<string, string>, ...flags: string[]) =>
		(await run(["realm", "list", ...flags], { env: { SVC_TOKEN: "svc_token", SVC_ADDRESS: server.address, ...extra } }))
			.code;
	assert.equal(await code({}), 5);
	assert.equal(await code({ SVC_CACERT: other }), 5);
	assert.equal(await code({ SVC_FINGERPRINT: SECOND }), 5);
	assert.deepEqual(server.requests, []);
	assert.equal(await code({ SVC_CACERT: cacert }), 0);
	assert.equal(await code({ SVC_FINGERPRINT: FIRST }), 0);
	assert.equal(await code({ SVC_FINGERPRINT: SECOND }, "--cacert", cacert), 0);
	assert.equal(await code({}, "--cacert", cacert, "--fingerprint", FIRST), 2);
});

test("a server that a known authority vouches for needs neither a question nor a pin", async (t) => {
	const before = tls.getCACertificates("default");
	t.after(() => tls.setDefaultCACertificates(before));
	tls.setDefaultCACertificates([identityOf("first").cert]);
	await using server = await startFake(({ url }) =>
		url === "/api/v1/auth/login" ? { body: LOGIN } : page("realms", []),
	);
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	assert.equal((await run(["login", "ada@example.com", "--password-stdin"], { env, ...PASSWORD })).code, 0);
	assert.equal((await readSession(fakeIo({ env }).io)).servers[server.address]?.trust, undefined);
	assert.equal((await run(["realm", "list"], { env })).code, 0);
	server.present("second");
	assert.equal((await run(["realm", "list"], { env })).code, 5);
});
