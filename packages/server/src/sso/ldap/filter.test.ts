import assert from "node:assert/strict";
import { test } from "node:test";
import { FilterError, readFilter } from "./filter.ts";

const read = (text: string, value: string | undefined = "alice") =>
	readFilter(text, { placeholder: "{username}", value });

/** The filter as sent in a message, with a dot for every byte that is not printable. */
const sent = (text: string, value?: string) => {
	const { buffer } = (read(text, value) as unknown as { toBer(): { buffer: Buffer } }).toBer();
	return buffer.toString("latin1").replace(/[^ -~]/g, "·");
};

/** The filter as ldapjs writes it. */
const shown = (text: string, value?: string) => String(read(text, value));

test("a filter is read as it was written", () => {
	const filters = [
		"(uid=alice)",
		"(&(objectClass=person)(uid=alice))",
		"(|(uid=alice)(mail=alice))",
		"(&(uid=alice)(!(disabled=TRUE))(cn=a*b*c)(mail=*)(age>=1)(age<=9)(sn~=x))",
		"(&(uid=alice)(memberOf:1.2.840.113556.1.4.1941:=cn=vpn,dc=test)(ou:dn:=people))",
	];
	for (const filter of filters) assert.equal(shown(filter.replaceAll("=alice", "={username}")), filter);
	assert.equal(shown(" (& (objectClass=person) (uid={username}) ) "), "(&(objectClass=person)(uid=alice))");
	assert.equal(shown("(mail={username}@example.com)"), "(mail=alice@example.com)");
});

test("escapes of a filter are the bytes that they stand for", () => {
	assert.equal(sent(String.raw`(&(cn=\2a\28\c3\a9)(uid={username}))`, "a").match(/cn··(.*?)··/)?.[1], "*(");
	assert.ok(sent(String.raw`(&(cn=a\5cb*)(uid={username}))`).includes("a\\b"));
});

test("no username changes the shape of a filter", () => {
	const names = [
		"*",
		"a)(uid=*",
		"*)(|(uid=*",
		String.raw`\2a`,
		"a\\",
		"{username}",
		"$&",
		"(",
		")",
		"&",
		"é\u202e",
		"x".repeat(1024),
	];
	for (const name of names) {
		const filter = read("(&(objectClass=person)(uid={username}))", name) as unknown as {
			filters: { value: string; type: string }[];
		};
		assert.deepEqual(
			filter.filters.map(({ type, value }) => [type, value]),
			[
				["EqualityFilter", "person"],
				["EqualityFilter", name],
			],
		);
	}
});

test("without a username its part of the filter asks for nothing, and every other part for what it did", () => {
	const anybody = (text: string) => String(readFilter(text, { placeholder: "{username}", value: undefined }));
	assert.equal(anybody("(uid={username})"), "(objectClass=*)");
	assert.equal(anybody("(&(objectClass=person)(uid={username}))"), "(&(objectClass=person))");
	assert.equal(anybody("(&(a=b)(|(uid={username})(mail={username})))"), "(&(a=b))");
	assert.equal(anybody("(|(&(a=b)(uid={username}))(&(c=d)(cn={username})))"), "(|(&(a=b))(&(c=d)))");
	assert.equal(anybody("(&(uid={username})(!(a=b)))"), "(&(!(a=b)))");
});

test("anything that is not a filter, or has the placeholder elsewhere than in a value of =, is refused", () => {
	const broken = [
		"",
		"uid={username}",
		"(uid={username}",
		"((uid={username}))",
		"(uid={username}))",
		"(&)(uid={username})",
	];
	const odd = [
		"(&(uid={username})",
		"(uid={username})(a=b)",
		String.raw`(&(uid={username})(a=\zz))`,
		"(={username})",
		"(&(uid={username})(a=))",
		"(&(uid={username})(a>=))",
		"(&(uid={username})(a~=))",
	];
	const elsewhere = [
		"(uid={username}*)",
		"(uid>={username})",
		"(uid~={username})",
		"({username}=a)",
		"(uid:dn:={username})",
	];
	const negated = ["(!(a=b)(uid={username}))", "(|(uid={username})(&))", "(uid=a)"];
	for (const text of [...broken, ...odd, ...elsewhere, ...negated]) assert.throws(() => read(text), FilterError, text);
	assert.throws(() => readFilter("(!(uid={username}))", { placeholder: "{username}", value: undefined }), FilterError);
});
