import assert from "node:assert/strict";
import { test } from "node:test";
import { createPasskeysCheck } from "./passkey-hosts.ts";

const checkAt = (address: string, hosts: string[]) =>
	createPasskeysCheck({ store: { factors: { passkeyHosts: async () => hosts } }, address: () => address })();

test("doctor warns of passkeys for another host than that of base_url", async () => {
	for (const hosts of [[], ["svc.example.com"]]) {
		const [{ status } = { status: "" }, ...more] = await checkAt("https://svc.example.com:8443", hosts);
		assert.deepEqual([status, more], ["ok", []]);
	}
	const [moved] = await checkAt("https://new.example.com", ["new.example.com", "old.example.com"]);
	assert.equal(moved?.status, "warning");
	assert.match(moved?.message ?? "", /\bold\.example\.com\b.*\bnew\.example\.com$/);
	for (const address of ["https://127.0.0.1:8443", "https://[::1]:8443"]) {
		const [bare] = await checkAt(address, ["localhost"]);
		assert.match(bare?.message ?? "", /\blocalhost\b.*\bIP address$/);
	}
	const [many] = await checkAt(
		"https://new.example.com",
		Array.from({ length: 30 }, (_, at) => `h${at}`),
	);
	assert.match(many?.message ?? "", /\bh19 and 10 more\b/);
});
