import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect } from "node:tls";
import { createServerCertificate } from "../packages/x509/src/index.ts";
import { api } from "./harness/client.ts";
import { eventually } from "./harness/engine-world.ts";
import { ok } from "./harness/expect.ts";
import { type Server, startServer } from "./harness.ts";

let server: Server;
before(async () => {
	server = await startServer();
});
after(() => server.close());

const newPair = () =>
	createServerCertificate({ names: ["127.0.0.1"], now: new Date(performance.timeOrigin), days: 1, randomBytes });

/** Returns the certificate that a new connection gets. */
async function presented(): Promise<string> {
	const socket = connect({ port: Number(new URL(server.url).port), host: "127.0.0.1", rejectUnauthorized: false });
	await once(socket, "secureConnect");
	const { fingerprint256 } = socket.getPeerCertificate();
	socket.destroy();
	return fingerprint256;
}

/** Replaces the server's files and signals it; returns after it has reported the event. */
async function reload(certificate: string, key: string, event: string): Promise<void> {
	await writeFile(join(server.data, "tls.crt"), certificate);
	await writeFile(join(server.data, "tls.key"), key);
	const before = server.stderr().split(event).length;
	process.kill(server.pid, "SIGHUP");
	await eventually(`${event} is logged`, () => server.stderr().split(event).length > before);
}

test("a renewed certificate is served without a restart, and connections live on", async () => {
	const client = api(server);
	ok(await client.get("/health"));
	const { certificate, private_key, fingerprint } = newPair();
	assert.notEqual(await presented(), fingerprint);
	await reload(certificate, private_key, '"tls.reloaded"');
	assert.equal(await presented(), fingerprint);
	ok(await client.get("/health"));
});

test("files that cannot be used are reported, and the certificate in use stays", async () => {
	const used = await presented();
	const [one, other] = [newPair(), newPair()];
	const table: [certificate: string, key: string][] = [
		["no certificate", one.private_key],
		[one.certificate, "no key"],
		[one.certificate, other.private_key],
	];
	for (const [certificate, key] of table) {
		await reload(certificate, key, '"tls.reload.failed"');
		assert.equal(await presented(), used);
	}
	assert.doesNotMatch(server.stderr(), /PRIVATE KEY/);
});
