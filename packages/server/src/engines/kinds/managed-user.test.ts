import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fields } from "@svc/protocol";
import { checkDocDrop, readDocCreate } from "./documentdb/command.ts";
import { checkKvDelete, readKvCreate } from "./keyvalue/connector.ts";
import { type CommandRole, ForbiddenCommand, isManagedName } from "./managed-user.ts";

const USERNAME = "svc_0a1b2c3d";
const PASSWORD = "0123456789abcdef01234567";
const RULES = ["~*", "+get", "+info"];
const LINE = `ACL SETUSER ${USERNAME} on >${PASSWORD} ~* +get +info`;
const DOCUMENT = {
	createUser: USERNAME,
	pwd: PASSWORD,
	roles: [{ role: "readWrite", db: "app" }],
	mechanisms: ["SCRAM-SHA-256"],
};

const kvRole = (acl_rules: unknown = RULES): CommandRole => ({ name: "readonly", config: { acl_rules } });
const docRole = (mongodb_role: unknown = "readWrite"): CommandRole => ({ name: "readWrite", config: { mongodb_role } });
const kvData = (changes: Fields = {}) => ({ username: USERNAME, password: PASSWORD, kv_command: LINE, ...changes });
const docData = (changes: Fields = {}) => ({
	username: USERNAME,
	password: PASSWORD,
	doc_command: DOCUMENT,
	...changes,
});

/** Asserts a refusal whose message quotes nothing that was sent. */
function assertForbidden(read: () => unknown, what: string, ...sent: string[]): void {
	assert.throws(read, (error) => {
		assert.ok(error instanceof ForbiddenCommand, what);
		for (const text of [PASSWORD, USERNAME, ...sent]) assert.ok(!error.message.includes(text), `${what}: echoed`);
		return true;
	});
}

test("ACL SETUSER of the answered user with the role's rules becomes separate arguments", () => {
	assert.deepEqual(readKvCreate(kvData(), kvRole()), {
		username: USERNAME,
		password: PASSWORD,
		arguments: ["ACL", "SETUSER", USERNAME, "on", `>${PASSWORD}`, "~*", "+get", "+info"],
	});
});

test("any other kv_command is refused", () => {
	const others: [string, unknown][] = [
		["none", undefined],
		["an array", LINE.split(" ")],
		["another verb", LINE.replace("SETUSER", "DELUSER")],
		["lower case", LINE.toLowerCase()],
		["another command", "FLUSHALL"],
		["another user", LINE.replace(USERNAME, "svc_ffffffff")],
		["the default user", LINE.replace(USERNAME, "default")],
		["another password", LINE.replace(PASSWORD, "f".repeat(24))],
		["a second password", LINE.replace(" ~*", " >x ~*")],
		["no password", LINE.replace(`>${PASSWORD}`, "nopass")],
		["a disabled user", LINE.replace(" on ", " off ")],
		["more rules", `${LINE} +@all`],
		["fewer rules", LINE.replace(" +info", "")],
		["other keys", LINE.replace("~*", "~secret:*")],
		["rules in another order", LINE.replace("+get +info", "+info +get")],
		["a blank before", ` ${LINE}`],
		["a blank after", `${LINE} `],
		["two blanks", LINE.replace(" on ", "  on ")],
		["a tab", LINE.replace(" on ", "\ton ")],
		["a second line", `${LINE}\r\nFLUSHALL`],
		["a NUL", `${LINE}\0`],
		["a quote", LINE.replace("+get", '"+get"')],
	];
	for (const [what, kv_command] of others)
		assertForbidden(() => readKvCreate(kvData({ kv_command }), kvRole()), what, "FLUSHALL");
});

test("a user or password that is not of the managed shape is refused, although the command agrees with it", () => {
	const names = [
		"default",
		"svc_",
		"svc_0A1B2C3D",
		"SVC_0a1b2c3d",
		"svc_0a1b2c3",
		"svc_0a1b2c3d4",
		"svc_0a1b2c3d\n",
		"svc_../../x",
		"",
	];
	for (const username of names) {
		const kv_command = LINE.replace(USERNAME, username);
		assertForbidden(() => readKvCreate(kvData({ username, kv_command }), kvRole()), username);
		const doc_command = { ...DOCUMENT, createUser: username };
		assertForbidden(() => readDocCreate(docData({ username, doc_command }), docRole(), "app"), username);
		assert.equal(isManagedName(username), false);
	}
	for (const password of [
		"",
		"short",
		"0123456789ABCDEF01234567",
		`${PASSWORD}\n`,
		`${PASSWORD} +@all`,
		`${PASSWORD}0`,
	]) {
		const kv_command = LINE.replace(PASSWORD, password);
		assertForbidden(() => readKvCreate(kvData({ password, kv_command }), kvRole()), password);
		const doc_command = { ...DOCUMENT, pwd: password };
		assertForbidden(() => readDocCreate(docData({ password, doc_command }), docRole(), "app"), password);
	}
	for (const wrong of [null, 5, {}, [USERNAME]]) {
		assertForbidden(() => readKvCreate(kvData({ username: wrong }), kvRole()), "username of another kind");
		assertForbidden(() => readKvCreate(kvData({ password: wrong }), kvRole()), "password of another kind");
	}
});

test("a third party's role may give and take keys, channels and commands, and nothing else", () => {
	const good = ["%R~cache:*", "%RW~x", "&news", "-@dangerous", "+config|get", "allkeys", "resetchannels"];
	const kv_command = `ACL SETUSER ${USERNAME} on >${PASSWORD} ${good.join(" ")}`;
	assert.deepEqual(readKvCreate(kvData({ kv_command }), kvRole(good)).arguments.slice(5), good);
	const bad = [
		"nopass",
		">another",
		"<another",
		`#${"a".repeat(64)}`,
		"reset",
		"on",
		"off",
		"+get +set",
		"+get\r\n",
		"~",
		"",
		"(+get ~x)",
	];
	for (const rule of bad) {
		const agreeing = `ACL SETUSER ${USERNAME} on >${PASSWORD} ${rule}`;
		assertForbidden(() => readKvCreate(kvData({ kv_command: agreeing }), kvRole([rule])), rule);
	}
	for (const rules of [[], "~* +get", null, [["~*"]], { 0: "~*" }]) {
		assertForbidden(() => readKvCreate(kvData(), kvRole(rules)), "rules of another kind");
	}
});

test("createUser of the answered user with the one role on the one database passes, in whatever order its fields are", () => {
	const { mechanisms, roles, pwd, createUser } = DOCUMENT;
	const doc_command = JSON.parse(JSON.stringify({ mechanisms, roles, pwd, createUser }));
	assert.deepEqual(readDocCreate(docData({ doc_command }), docRole(), "app"), {
		username: USERNAME,
		password: PASSWORD,
		document: DOCUMENT,
	});
});

test("what is sent to the document database is not what the engine returned", () => {
	const doc_command = structuredClone(DOCUMENT);
	const { document } = readDocCreate(docData({ doc_command }), docRole(), "app");
	doc_command.roles.push({ role: "root", db: "admin" });
	assert.deepEqual(document, DOCUMENT);
	assert.equal(Object.keys(document)[0], "createUser", "the first field names the command");
});

test("any other doc_command is refused", () => {
	const [role] = DOCUMENT.roles;
	const others: [string, unknown][] = [
		["none", undefined],
		["a text", JSON.stringify(DOCUMENT)],
		["a list", [DOCUMENT]],
		["another command", { dropDatabase: 1 }],
		["another user", { ...DOCUMENT, createUser: "svc_ffffffff" }],
		["another password", { ...DOCUMENT, pwd: "f".repeat(24) }],
		["another role", { ...DOCUMENT, roles: [{ ...role, role: "root" }] }],
		["another database", { ...DOCUMENT, roles: [{ ...role, db: "admin" }] }],
		["a second role", { ...DOCUMENT, roles: [role, { role: "read", db: "admin" }] }],
		["no role", { ...DOCUMENT, roles: [] }],
		["a role by name", { ...DOCUMENT, roles: ["readWrite"] }],
		["a role with more", { ...DOCUMENT, roles: [{ ...role, $db: "admin" }] }],
		["SCRAM-SHA-1", { ...DOCUMENT, mechanisms: ["SCRAM-SHA-1"] }],
		["both mechanisms", { ...DOCUMENT, mechanisms: ["SCRAM-SHA-256", "SCRAM-SHA-1"] }],
		["no mechanisms", { createUser: USERNAME, pwd: PASSWORD, roles: DOCUMENT.roles }],
		["another database by $db", { ...DOCUMENT, $db: "config" }],
		["custom data", { ...DOCUMENT, customData: {} }],
		["a write concern", { ...DOCUMENT, writeConcern: { w: 0 } }],
		["a field of a prototype", JSON.parse(`{"__proto__": {"x": 1}, ${JSON.stringify(DOCUMENT).slice(1)}`)],
		["fields that are inherited", Object.create(DOCUMENT)],
	];
	for (const [what, doc_command] of others) {
		assertForbidden(() => readDocCreate(docData({ doc_command }), docRole(), "app"), what);
	}
	assertForbidden(() => readDocCreate(docData(), docRole(), "other"), "a database that was not asked for");
	for (const name of ["", null, 5, { role: "root" }]) {
		assertForbidden(() => readDocCreate(docData(), docRole(name), "app"), "a role without a database role");
	}
});

test("fields that the answer only inherits do not count", () => {
	assertForbidden(() => readKvCreate(Object.create(kvData()), kvRole()), "keyvalue");
	assertForbidden(() => readDocCreate(Object.create(docData()), docRole(), "app"), "documentdb");
});

test("a delete is of the user that was asked for, and of a managed one", () => {
	checkKvDelete({ valid: true, kv_command: `ACL DELUSER ${USERNAME}` }, USERNAME);
	checkDocDrop({ valid: true, doc_command: { dropUser: USERNAME } }, USERNAME);
	for (const kv_command of [
		undefined,
		"",
		"ACL DELUSER svc_ffffffff",
		`ACL DELUSER ${USERNAME} default`,
		`ACL DELUSER ${USERNAME}\r\nPING`,
	]) {
		assertForbidden(() => checkKvDelete({ kv_command }, USERNAME), String(kv_command));
	}
	const others = [
		undefined,
		{},
		{ dropUser: "svc_ffffffff" },
		{ dropUser: USERNAME, $db: "x" },
		{ dropAllUsersFromDatabase: 1 },
	];
	for (const doc_command of others)
		assertForbidden(() => checkDocDrop({ doc_command }, USERNAME), JSON.stringify(doc_command));
	assertForbidden(() => checkKvDelete({ kv_command: "ACL DELUSER default" }, "default"), "default");
	assertForbidden(() => checkDocDrop({ doc_command: { dropUser: "root" } }, "root"), "root");
});
