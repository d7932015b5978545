import assert from "node:assert/strict";
import { createLdap } from "../../../packages/server/src/sso/ldap/ldap.ts";
import { settingsOf } from "../../../packages/server/src/sso/ldap/testing.ts";
import { ProviderUnavailable, SsoRefusal } from "../../../packages/server/src/sso/model.ts";
import { ALICE, ber, entry, honestBut, result, startFakeLdap } from "../../peers/ldap-fake.ts";
import type { Target } from "../target.ts";

const ldap = createLdap();

const done = (code: number, ...more: Buffer[]) => result({ id: 1, operation: "search" }, code, ...more);
const PERSON = { entryUUID: ["0b8f"], mail: ["alice@example.com"], cn: ["Alice"] };

/** OpenLDAP's answer to the search. */
const REAL = Buffer.from(
	"30818e020101648188041b7569643d616c6963652c6f753d70656f706c652c64633d74657374306930150402636e310f040d616c696365204578616d706c65" +
		"301b04046d61696c31130411616c696365406578616d706c652e636f6d30330409656e747279555549443126042435633534363130382d376533612d3130" +
		"34312d383332662d326666396361646264356430300c02010165070a010004000400",
	"hex",
);

/**
 * Whatever a directory answers to a search, the login ends: with the person in the answer, refused, or with a provider that is not available.
 * A thread reads the answer, and ends when ldapjs throws or loops. Its branches do not guide the search.
 */
export const directory: Target = {
	sources: ["packages/server/src/sso/ldap/ldap.ts", "packages/server/src/sso/ldap/threads.ts"],
	max_bytes: 1024 * 1024,
	seeds: [
		Buffer.concat([entry(1, ALICE, PERSON), done(0)]),
		REAL,
		Buffer.concat([entry(1, ALICE, PERSON), entry(1, "uid=bob,dc=test", PERSON), done(4)]),
		done(10, ber(0xa3, ber(0x04, "ldap://127.0.0.1:1/"))),
		done(32),
	],
	tokens: [
		...[
			"\x30\x84",
			"\x04\x84\0\xff\xff\xff",
			"\x02\x01\x01",
			"\x30\x80",
			"\0\0",
			"\x31\x00",
			"\x04\x00",
			"\x0a\x01\x00",
		],
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
