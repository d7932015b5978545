import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Request, result } from "../../../../../test/peers/ldap-fake.ts";
import { PEOPLE, person, type Slapd, skipWithoutSlapd, startSlapd } from "../../../../../test/peers/slapd.ts";
import { createLdap } from "./ldap.ts";
import { fakeFor, refusedAs, settingsOf } from "./testing.ts";

/** The same for everybody: a login that finds somebody by another's name succeeds. */
const PASSWORD = "the same for all";

/** A person whose name in the directory means something in a filter. */
const star = `dn: uid=*,${PEOPLE}\nobjectClass: inetOrgPerson\nuid: *\ncn: Star\nsn: Star\nuserPassword: ${PASSWORD}\n\n`;

const ldap = createLdap();
const ends = new AsyncDisposableStack();
let slapd: Slapd;
after(() => ends.disposeAsync());
before(async () => {
	ends.defer(ldap.close);
	if (skipWithoutSlapd !== false) return;
	slapd = await startSlapd({ entries: person("alice", PASSWORD) + star, anonymous: true, tls: false });
	ends.defer(slapd.stop);
});

const HOSTILE = [
	"a)(uid=*",
	"*)(|(uid=*",
	"*)(uid=*))(|(uid=*",
	"alice)(objectClass=*",
	"ali*",
	String.raw`\2a`,
	String.raw`al\69ce`,
	"alice\\",
	"a\\",
	"(uid=alice)",
	"uid=alice",
	"uid=*",
	`uid=*,${PEOPLE}x`,
	`uid=ali*,${PEOPLE}`,
	`uid=alice,${PEOPLE}\\`,
	String.raw`uid=alice\,ou=people,dc=test`,
	`uid=alice\\,${PEOPLE}`,
	`uid=alice+uid=*,${PEOPLE}`,
	`uid=alice;${PEOPLE}`,
	`uid=#0405616c696365,${PEOPLE}`,
	`<ldap:///${PEOPLE}??sub>`,
	"{username}",
	"$&",
	"\u202ealice",
	"ecila\u202e",
	"alice\u200b",
	"%61lice",
	"alice\r\nuid: bob",
];

const filters = ["(uid={username})", "(&(objectClass=person)(uid={username}))", "(|(uid={username})(mail={username}))"];

test("a username that means something to a filter or a name finds nobody", { skip: skipWithoutSlapd }, async () => {
	for (const user_filter of filters) {
		const settings = settingsOf({ url: slapd.ldap_url, user_filter });
		for (const username of HOSTILE) {
			await assert.rejects(ldap.identify(settings, username, PASSWORD), refusedAs("unknown"), username);
		}
	}
});

test("a person with such a name signs in as nobody else", { skip: skipWithoutSlapd }, async () => {
	for (const user_filter of filters) {
		const settings = settingsOf({ url: slapd.ldap_url, user_filter });
		assert.equal((await ldap.identify(settings, "*", PASSWORD)).name, "Star");
		assert.equal((await ldap.identify(settings, `uid=*,${PEOPLE}`, PASSWORD)).name, "Star");
		assert.equal((await ldap.identify(settings, "alice", PASSWORD)).name, "alice Example");
		assert.equal((await ldap.identify(settings, String.raw`uid=\61lice,${PEOPLE}`, PASSWORD)).name, "alice Example");
	}
});

test("the directory is sent the very username, and one name that it cannot take for another", async (t) => {
	const seen: Request[] = [];
	const fake = await fakeFor(t, (request) => {
		if (request.operation === "search") seen.push(request);
		return result(request, 0);
	});
	const settings = settingsOf({ url: fake.url });
	for (const username of [...HOSTILE, "*", "é\u202e𝄞", "x".repeat(1024)]) {
		await assert.rejects(ldap.identify(settings, username, PASSWORD), refusedAs("unknown"), username);
		const body = seen.at(-1)?.body;
		assert.ok(body);
		const value = Buffer.from(username);
		const length = value.length < 128 ? [value.length] : [0x82, value.length >> 8, value.length & 255];
		const isFilter = body.includes(Buffer.concat([Buffer.from([0x04, ...length]), value]));
		assert.ok(isFilter || /^uid=(?:\*|ali\*|alice\+uid=\*),ou=people,dc=test/.test(username), username);
	}
});

test("no password and no username that proves or names nothing reaches a directory", async (t) => {
	const fake = await fakeFor(t, (request) => result(request, 0));
	const settings = settingsOf({ url: fake.url });
	const passwords = [
		"",
		" ",
		"\t\u00a0\u2003\n",
		"\0",
		"secret\0",
		"x".repeat(1025),
		"é".repeat(513),
		"x".repeat(1 << 20),
		"\ud800",
	];
	for (const password of passwords) {
		await assert.rejects(ldap.identify(settings, "alice", password), refusedAs("password"));
		await assert.rejects(ldap.identify(settings, `uid=alice,${PEOPLE}`, password), refusedAs("password"));
	}
	for (const username of ["", " ", "\0", "alice\0", "x".repeat(1025), "x".repeat(10_240), "\udfff"]) {
		await assert.rejects(ldap.identify(settings, username, PASSWORD), refusedAs("unknown"));
	}
	assert.equal(fake.connections(), 0);
	await assert.rejects(ldap.identify(settings, "alice", "x".repeat(1024)), refusedAs("unknown"));
	assert.ok(fake.connections() > 0);
});
