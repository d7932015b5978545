import assert from "node:assert/strict";
import { test } from "node:test";
import { PEOPLE } from "../../../../../test/peers/slapd.ts";
import { accountOf } from "./account.ts";

const named = (username: string) => accountOf({ user_base_dn: PEOPLE }, username);

test("every spelling of a name is counted as the plain one", () => {
	const plain = ["alice", " ALICE ", "\uff41lice", "a\u00adlice\u200b", "Àlíce", "\t alice\n", "alıce"];
	const types = ["uid", "UID ", " userid", "cn", "0.9.2342.19200300.100.1.1"];
	const values = ["alice", " Alice ", String.raw`\61lice`, String.raw`al\69c\65`, String.raw`alice\20`, "\uff41lice"];
	const bases = [PEOPLE, " OU = People , DC=TEST", String.raw`ou=\70eople,dc=\74est`];
	const names = types.flatMap((type) => values.flatMap((value) => bases.map((base) => `${type}=${value},${base}`)));
	for (const name of [...plain, ...names]) assert.equal(named(name), "alice", name);
	assert.equal(named("alice  b"), named("alice\u2003B"));
	assert.equal(named("straße"), named("STRASSE"));
});

test("every spelling of a name further below is counted as one", () => {
	const names = [
		`uid=alice,ou=x y,${PEOPLE}`,
		`UID=\\41lice , 2.5.4.11 = X  Y,${PEOPLE}`,
		`uid=alice,ou=x\\20\\20y,${PEOPLE}`,
	];
	assert.deepEqual([...new Set(names.map(named))], ["alice,x y"]);
	const several = [`uid=alice+cn=b,${PEOPLE}`, `cn=B + uid=Alice,${PEOPLE}`];
	assert.deepEqual([...new Set(several.map(named))], ["alice+b"]);
});

test("people with names of their own are counted for themselves", () => {
	const names = [
		"alice",
		"bob",
		`uid=carol,${PEOPLE}`,
		`uid=alice,ou=x,${PEOPLE}`,
		`uid=alice,ou=y,${PEOPLE}`,
		"uid=alice,dc=test",
		"uid=bob,dc=test",
		PEOPLE,
		`uid="alice",${PEOPLE}`,
		String.raw`\61lice`,
		"山田",
		"山本",
	];
	assert.equal(new Set(names.map(named)).size, names.length);
	assert.equal(accountOf({ user_base_dn: "no name" }, `UID=alice,${PEOPLE}`), `uid=alice,${PEOPLE}`);
});

test("only the beginning of a name that is too long is read", () => {
	named("\ufdfa");
	// The least time that reading all of it would take on this machine.
	const whole_us = cpuOf(() => "\ufdfa".repeat(1_048_576).normalize("NFKD"));
	for (const letter of ["\ufdfa", " ", "a", "\\", "uid=a,", "\u0301", "+"]) {
		const name = letter.repeat(1_048_576 / letter.length);
		// The garbage collector may work for others meanwhile.
		const taken_us = Math.min(...Array.from({ length: 3 }, () => cpuOf(() => named(name))));
		assert.ok(taken_us < whole_us / 10, `${taken_us} µs of ${whole_us}`);
		assert.equal(named(name), named(name.slice(0, 1024)));
	}
});

/** Microseconds of this thread's CPU that some work takes. */
function cpuOf(work: () => unknown): number {
	const cpu = process.threadCpuUsage();
	work();
	const { user, system } = process.threadCpuUsage(cpu);
	return user + system;
}
