import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { html, textOf } from "./html.ts";
import { Misfilled, withSentForm } from "./refused-form.ts";

const PAGE = html`<form method="post" action="/console/a?b=1"><input type="hidden" name="action" value="end"><button>End</button></form>
<details><summary>More</summary><form method="post" action="/console/a?b=1"><input type="hidden" name="form_token" value="t"><input type="hidden" name="action" value="make">
<input name="email" type="email" value="old@x.test"><input name="password" type="password"><input name="code" type="text" autocomplete="one-time-code">
<input type="checkbox" name="read" value="yes" checked> <input type="checkbox" name="write" value="yes"><select id="role" name="role"><option value="viewer" selected>viewer</option><option value="admin">admin</option></select>
<textarea name="value" rows="3"></textarea><textarea name="claims" data-again="" aria-describedby="help"></textarea></form></details>`;

const TYPED = {
	...{ action: "make", form_token: "canary", email: 'a"><b>@x.test', password: "canary", code: "canary" },
	...{ write: "yes", role: "admin", value: "canary", claims: "</textarea>sub=a" },
};

const shown = (form: Record<string, string>, why?: AppError, target = "/console/a?b=1") =>
	textOf(withSentForm(PAGE, { target, form, why }));

test("the form that was sent has what was typed, and no password, code or text of a secret", () => {
	const page = shown(TYPED, new AppError("conflict", "it is there already"));
	assert.match(page, /<p class="error" role="alert">it is there already<\/p>/);
	assert.match(page, /name="email" type="email" value="a&quot;&gt;&lt;b&gt;@x\.test"/);
	assert.match(page, /name="read" value="yes"> <input type="checkbox" name="write" value="yes" checked=""/);
	assert.match(page, /<option value="viewer">viewer<\/option><option value="admin" selected="">/);
	assert.match(page, />\n&lt;\/textarea&gt;sub=a<\/textarea>/);
	assert.match(page, /<details open="">/);
	assert.doesNotMatch(page, /canary/);
	assert.doesNotMatch(page, /aria-invalid/, "it is about no field");
});

test("a refusal of one field stands next to it, and the field has the focus", () => {
	const marked = (why: AppError) => shown(TYPED, why).match(/<(\w+)[^>]*aria-invalid="true"[^>]*>/)?.[0] ?? "";
	assert.match(marked(new AppError("validation_failed", "email must be an address")), /name="email".* autofocus=""/);
	assert.match(marked(new AppError("wrong_password", "it is wrong")), /name="password"/);
	assert.match(marked(new Misfilled("claims", "not like this")), /aria-describedby="problem help"/);
	const page = shown(TYPED, new Misfilled("role", "choose another"));
	assert.match(page, /<\/select><span class="bad problem" id="problem">choose another<\/span>/);
});

test("no other form is filled: another address, other hidden fields, or another field is not the one that was sent", () => {
	const unfilled = textOf(html`${PAGE}`);
	assert.equal(shown(TYPED, undefined, "/console/a?b=2"), unfilled);
	assert.equal(shown({ ...TYPED, action: "other" }), unfilled);
});
