import assert from "node:assert/strict";
import { createLdap } from "../../../packages/server/src/sso/ldap/ldap.ts";
import { settingsOf } from "../../../packages/server/src/sso/ldap/testing.ts";
import { ProviderUnavailable, SsoRefusal } from "../../../packages/server/src/sso/model.ts";
import { ALICE, ber, entry, honestBut, result, startFakeLdap } from "../../peers/ldap-fake.ts";
import type { Target } from "../target.ts";

const ldap = createLdap();

const done = (code: number, ...more: Buffer[]) => result({ id: 1, operation: "search" }, code, ...more);
const PERSON = { entryUUID: ["0b8f"], mail: ["alice@example.com"], cn: ["Alice"] };

/** Encodes each length in one byte, as OpenLDAP does where it is short. */
function short(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
	const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
	return Buffer.concat([Buffer.from([tag, content.length]), content]);
}

const ID = short(0x02, Buffer.from([1]));
const UUID = short(0x30, short(0x04, "entryUUID"), short(0x31, short(0x04, "0b8f")));
const SHORT = Buffer.concat([
	short(0x30, ID, short(0x64, short(0x04, ALICE), short(0x30, UUID))),
	short(0x30, ID, short(0x65, short(0x0a, Buffer.from([0])), short(0x04), short(0x04))),
]);

/**
 * Whatever a directory answers to a search, the login ends: with the person in the answer, refused, or with a provider that is not available.
 * A thread reads the answer, and ends when ldapjs throws or loops. Its branches do not guide the search.
 */
export const directory: Target = {
	sources: /sso\/ldap\/(ldap|threads)\.ts$/,
	max_bytes: 1024 * 1024,
	seeds: [
		Buffer.concat([entry(1, ALICE, PERSON), done(0)]),
		SHORT,
		Buffer.concat([entry(1, ALICE, PERSON), entry(1, "uid=bob,dc=test", PERSON), done(4)]),
		done(10, ber(0xa3, ber(0x04, "ldap://127.0.0.1:1/"))),
		done(32),
	],
	tokens: [
		...["\x30\x84", "\x04\x84\0\xff\xff\xff", "\x02\x01\x01", "\x30\x80", "\0\0", "\x31\x00", "\x04\x00", "\x0a\x01\x00"],
		...["\x64", "\x65", "\x73", "\x78", "\x79", "\xa0", "\xa3", "entryUUID", "0b8f", ALICE, "\\2c", "\xff"],
	],
	async check(input) {
		const fake = await startFakeLdap(honestBut("search", () => (socket) => void socket.end(input)));
		try {
			const { subject } = await ldap.identify(settingsOf({ url: fake.url }), "alice", "a password");
			assert.ok(input.includes(subject));
		} catch (error) {
			if (!(error instanceof SsoRefusal || error instanceof ProviderUnavailable)) throw error;
		} finally {
			await fake.stop();
		}
	},
};
