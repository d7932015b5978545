import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
	GROUPS,
	group,
	PEOPLE,
	person,
	type Slapd,
	skipWithoutSlapd,
	startSlapd,
} from "../../../../../test/peers/slapd.ts";
import { createLdap } from "./ldap.ts";
import { refusedAs, settingsOf, unavailableAs } from "./testing.ts";

const real = { skip: skipWithoutSlapd };
const PASSWORD = "alice's password";
const ALICE = `uid=alice,${PEOPLE}`;

/** Entries as in a directory: a value that contains a separator, and one that ends with a backslash. */
const ODD = [
	`dn: uid=o\\,dd,${PEOPLE}\nobjectClass: inetOrgPerson\nuid: o,dd\ncn: Odd\nsn: Odd\nuserPassword: odd's password\n`,
	`dn: uid=back\\\\,${PEOPLE}\nobjectClass: inetOrgPerson\nuid: back\\\ncn: Back\nsn: Back\nuserPassword: back's password\n`,
	`dn: uid=\\#04026162,${PEOPLE}\nobjectClass: inetOrgPerson\nuid:: ${Buffer.from("#04026162").toString("base64")}\ncn: Hash\nsn: Hash\nuserPassword: hash's password\n`,
	`dn: uid=björn,${PEOPLE}\nobjectClass: inetOrgPerson\nuid: björn\ncn: Björn Å\nsn: Å\nuserPassword: smörgås\n`,
].map((entry) => utf8(`${entry}\n`));

/** LDIF takes text that is not ASCII as base64. */
function utf8(entry: string): string {
	const encode = (line: string) =>
		line.replace(/^(\w+): (.*)$/, (_, name, value) => `${name}:: ${Buffer.from(value).toString("base64")}`);
	return entry
		.split("\n")
		.map((line) => (/^[\x20-\x7e]*$/.test(line) ? line : encode(line)))
		.join("\n");
}

const ENTRIES = [
	person("alice", PASSWORD, "mail: alice@example.org\ndescription: 1\ndescription: 2\nemployeeType: staff\n"),
	person("bob", "bob's password", "description: 3\n"),
	person("twin", "twin's password", "employeeNumber: 7\n"),
	person("twin2", "twin's password", "employeeNumber: 7\n"),
	person("triplet", "twin's password", "employeeNumber: 7\n"),
	...ODD,
	group("devs", ALICE, `uid=bob,${PEOPLE}`),
	group("admins", `uid=bob,${PEOPLE}`),
	group("odd", `uid=o\\,dd,${PEOPLE}`),
].join("");

const ldap = createLdap();
const ends = new AsyncDisposableStack();
let slapd: Slapd;
after(() => ends.disposeAsync());
before(async () => {
	ends.defer(ldap.close);
	if (skipWithoutSlapd !== false) return;
	slapd = await startSlapd({ entries: ENTRIES });
	ends.defer(slapd.stop);
});

const settings = (fields: Readonly<Record<string, unknown>> = {}) =>
	settingsOf({
		url: slapd.ldaps_url,
		ca_cert: slapd.ca,
		bind_dn: slapd.bind_dn,
		bind_password: slapd.bind_password,
		group_base_dn: GROUPS,
		...fields,
	});

test("a person is who the directory says, over ldaps and after StartTLS", real, async () => {
	for (const way of [{}, { url: slapd.ldap_url, start_tls: true }, { url: slapd.ldap_url }]) {
		await ldap.test(settings(way));
		const { subject, ...rest } = await ldap.identify(settings(way), "alice", PASSWORD);
		assert.match(subject, /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
		assert.deepEqual(rest, {
			issuer: PEOPLE,
			email: "alice@example.com",
			email_verified: true,
			name: "alice Example",
			groups: ["devs"],
		});
	}
});

test("a wrong password, a missing person and several of them are refused", real, async () => {
	await assert.rejects(ldap.identify(settings(), "alice", "bob's password"), refusedAs("password"));
	await assert.rejects(ldap.identify(settings(), "nobody", PASSWORD), refusedAs("unknown"));
	const byNumber = settings({ user_filter: "(employeeNumber={username})" });
	await assert.rejects(ldap.identify(byNumber, "7", "twin's password"), refusedAs("unknown"));
});

test("a name below the base is looked up where it is, and has to meet the rest of the filter", real, async () => {
	const staff = settings({ user_filter: "(&(employeeType=staff)(uid={username}))" });
	const { subject } = await ldap.identify(settings(), "alice", PASSWORD);
	for (const name of [ALICE, "UID=Alice, OU = people,dc=TEST"]) {
		assert.equal((await ldap.identify(staff, name, PASSWORD)).subject, subject);
	}
	await assert.rejects(ldap.identify(staff, `uid=bob,${PEOPLE}`, "bob's password"), refusedAs("unknown"));
	assert.equal((await ldap.identify(settings(), `uid=bob,${PEOPLE}`, "bob's password")).email, "bob@example.com");
	await assert.rejects(ldap.identify(settings(), ALICE, "bob's password"), refusedAs("password"));
	const others = [
		slapd.bind_dn,
		PEOPLE,
		"dc=test",
		`uid=nobody,${PEOPLE}`,
		`nosuchtype=a,${PEOPLE}`,
		`uid=alice,${PEOPLE},${PEOPLE}`,
	];
	for (const name of others) {
		await assert.rejects(ldap.identify(settings(), name, slapd.bind_password), refusedAs("unknown"), name);
	}
});

test("people whose names need escapes come in as themselves, and their groups are found", real, async () => {
	const odd = await ldap.identify(settings(), "o,dd", "odd's password");
	assert.deepEqual([odd.name, odd.groups, odd.email_verified], ["Odd", ["odd"], false]);
	assert.equal((await ldap.identify(settings(), `uid=o\\2cdd,${PEOPLE}`, "odd's password")).subject, odd.subject);
	assert.equal((await ldap.identify(settings(), "back\\", "back's password")).name, "Back");
	assert.equal((await ldap.identify(settings(), "#04026162", "hash's password")).name, "Hash");
	assert.equal((await ldap.identify(settings(), "björn", "smörgås")).name, "Björn Å");
	assert.equal((await ldap.identify(settings(), `uid=bj\\c3\\b6rn,${PEOPLE}`, "smörgås")).name, "Björn Å");
});

test("the attribute that identifies somebody needs exactly one value, whichever it is", real, async () => {
	const by = (id_attribute: string) => ldap.identify(settings({ id_attribute }), "alice", PASSWORD);
	assert.equal((await by("UID")).subject, "alice");
	await assert.rejects(by("description"), refusedAs("subject"));
	await assert.rejects(by("employeeNumber"), refusedAs("subject"));
});

test("a misconfiguration is reported, and no login is tried", real, async () => {
	const wrong: [fields: Record<string, unknown>, message: RegExp][] = [
		[{ bind_password: "wrong" }, /\bbind_dn\b.*\bbind_password\b.*\b49\)$/],
		[{ bind_dn: undefined, bind_password: undefined }, /\buser_base_dn\b.* \d+\)$/],
		[{ bind_password: undefined }, /^bind_dn and bind_password\b/],
		[{ user_base_dn: "ou=nobody,dc=test" }, /\buser_base_dn\b.* 32\)$/],
		[{ user_base_dn: "nobody" }, /^user_base_dn\b/],
		[{ user_filter: "(uid={username}" }, /^user_filter\b.*\{username\}/],
		[{ group_filter: "(member=*)" }, /^group_filter\b.*\{dn\}/],
		[{ group_base_dn: "ou=nothing,dc=test" }, /\bgroup_base_dn\b.* 32\)$/],
		[{ id_attribute: "entry UUID" }, /^id_attribute, email_attribute and name_attribute\b/],
	];
	for (const [fields, message] of wrong) {
		await assert.rejects(ldap.test(settings(fields)), unavailableAs(message), String(message));
		await assert.rejects(ldap.identify(settings(fields), "alice", PASSWORD), unavailableAs(message), String(message));
	}
});

test(
	"a certificate of another authority, or for another name, ends the login before anything is asked",
	real,
	async () => {
		const nothingPinned = { ca_cert: undefined };
		await assert.rejects(ldap.identify(settings(nothingPinned), "alice", PASSWORD), unavailableAs(/\bca_cert$/));
		const startTls = { url: slapd.ldap_url, start_tls: true };
		const garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
		await assert.rejects(ldap.test(settings({ ...startTls, ...nothingPinned })), unavailableAs(/\bca_cert$/));
		await assert.rejects(ldap.test(settings({ ca_cert: garbage })), unavailableAs(/^ca_cert\b/));
		await ldap.test(settings({ url: slapd.ldaps_url.replace("127.0.0.1", "localhost") }));
		await ldap.test(settings({ ...startTls, url: slapd.ldap_url.replace("127.0.0.1", "localhost") }));
	},
);

test("a directory that hangs is abandoned in five seconds, and others are asked meanwhile", {
	...real,
	timeout: 300_000,
}, async (t) => {
	const other = await startSlapd({ entries: person("alice", PASSWORD), anonymous: true, tls: false });
	t.after(other.stop);
	const open = settingsOf({ url: other.ldap_url });
	slapd.pause();
	t.after(slapd.resume);
	let isLate = false;
	// Timers end in order even on a busy machine.
	const timer = setTimeout(() => {
		isLate = true;
	}, 5000);
	let givenUp = 0;
	const logins = Array.from({ length: 30 }, () => ldap.identify(settings(), "alice", PASSWORD));
	for (const login of logins) login.catch(({ message }) => (givenUp += Number(/in time/.test(message))));
	const hanging = Promise.all(logins.map((login) => assert.rejects(login, unavailableAs(/\bin time\b|\btoo many\b/))));
	assert.equal((await ldap.identify(open, "alice", PASSWORD)).email, "alice@example.com");
	assert.equal(givenUp, 0, "the other directory is not waited for");
	await hanging;
	clearTimeout(timer);
	assert.ok(givenUp > 0 && !isLate);
	slapd.resume();
	assert.equal((await ldap.identify(settings(), "alice", PASSWORD)).email, "alice@example.com");
});
