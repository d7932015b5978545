import assert from "node:assert/strict";
import { test } from "node:test";
import { findPrivileges } from "./privileges.ts";

const USERS = [{ user: "svc", db: "admin" }];

/** Makes a privilege as mongod reports it. */
const on = (db: string, actions: string[], collection = "") => ({ resource: { db, collection }, actions });

function look(privileges: object[], roles: object[] = [{ role: "made", db: "admin" }]) {
	const info = { authenticatedUsers: USERS, authenticatedUserRoles: roles, authenticatedUserPrivileges: privileges };
	return findPrivileges(info, "admin", ["app"]).map(({ name, status }) => `${status} ${name}`);
}

const ALL = ["createUser", "dropUser", "viewUser"];
const GRANTED = ["createUser on admin", "dropUser on admin", "viewUser on admin", "grantRole on app"];

test("rights are found on their database, on every database, and on every resource", () => {
	const granted = GRANTED.map((name) => `granted ${name}`);
	assert.deepEqual(look([on("admin", ALL), on("app", ["grantRole"])]), granted);
	assert.deepEqual(look([on("", [...ALL, "grantRole"])]), granted);
	assert.deepEqual(look([{ resource: { anyResource: true }, actions: ["anyAction"] }]), granted);
});

test("rights on another database, on a collection, or on the cluster are none of these", () => {
	const missing = GRANTED.map((name) => `missing ${name}`);
	assert.deepEqual(look([on("other", [...ALL, "grantRole"])]), missing);
	assert.deepEqual(look([on("admin", ALL, "system.users"), on("app", ["grantRole"], "orders")]), missing);
	assert.deepEqual(look([{ resource: { cluster: true }, actions: [...ALL, "grantRole"] }]), missing);
	assert.deepEqual(look([], []), missing);
});

test("where only roles are known, those that manage users count", () => {
	assert.ok(look([], [{ role: "userAdminAnyDatabase", db: "admin" }]).every((line) => line.startsWith("granted")));
	assert.deepEqual(look([], [{ role: "userAdmin", db: "admin" }]).slice(2), [
		"granted viewUser on admin",
		"missing grantRole on app",
	]);
	assert.deepEqual(look([], [{ role: "made", db: "admin" }]), ["doubtful privileges"]);
});

test("a database without access control is doubtful, and so is one that says nothing", () => {
	const info = { authenticatedUsers: [], authenticatedUserPrivileges: [] };
	for (const answer of [info, {}, undefined, "x"])
		assert.deepEqual(
			findPrivileges(answer, "admin", ["app"]).map(({ name, status }) => [name, status]),
			[["access control", "doubtful"]],
		);
});
