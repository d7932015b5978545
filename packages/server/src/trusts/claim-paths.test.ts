import assert from "node:assert/strict";
import { test } from "node:test";
import { differingPath, isClaimPath, valueAt } from "./claim-paths.ts";

const CLAIMS = JSON.parse(`{
	"a.b": 1, "a": {"b": 2, "": 3, "c/d": {"e~f": 4}, "list": ["x"]}, "oidc.circleci.com/project-id": "p", "": 5,
	"__proto__": {"hidden": true}, "large": 9007199254740993, "half": 1.5, "yes": true
}`);

test("a path without a slash at the front is the literal name of a claim", () => {
	assert.equal(valueAt(CLAIMS, "a.b"), 1);
	assert.equal(valueAt(CLAIMS, "oidc.circleci.com/project-id"), "p");
	for (const none of ["b", "toString", "constructor", "hidden", "a/b"]) assert.equal(valueAt(CLAIMS, none), undefined);
});

test("a path with a slash at the front is a JSON pointer that enters objects alone", () => {
	assert.equal(valueAt(CLAIMS, "/a/b"), 2);
	assert.equal(valueAt(CLAIMS, "/a/"), 3);
	assert.equal(valueAt(CLAIMS, "/a/c~1d/e~0f"), 4);
	assert.equal(valueAt(CLAIMS, "/"), 5);
	for (const none of ["/a/list/0", "/a/list/length", "/a.b/x", "/a/b/c", "/a/toString", "/yes/valueOf", "//a"])
		assert.equal(valueAt(CLAIMS, none), undefined, none);
});

test("values are equal in type and value, and large or broken numbers are equal to none", () => {
	assert.equal(differingPath(CLAIMS, { "a.b": 1, "/a/b": 2, yes: true }), undefined);
	for (const [path, wanted] of [
		["a.b", "1"],
		["yes", "true"],
		["yes", 1],
		["large", 9007199254740992],
		["half", 1.5],
		["a", "[object Object]"],
		["/a/list", "x"],
		["absent", "undefined"],
	] as const) {
		assert.equal(differingPath(CLAIMS, { [path]: wanted }), path);
	}
});

test("a pointer with an unfinished escape is no path", () => {
	for (const good of ["a", "a.b", "/", "/a~0b/~1", "a~b"]) assert.ok(isClaimPath(good), good);
	for (const bad of ["", "/a~", "/a~2"]) assert.ok(!isClaimPath(bad), bad);
});
