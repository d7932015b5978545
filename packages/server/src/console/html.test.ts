import assert from "node:assert/strict";
import { test } from "node:test";
import { address, type Html, html, textOf } from "./html.ts";

const HOSTILE = `"><script>alert('1')</script>&`;
const ESCAPED = "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;";

test("a value is escaped for its place", () => {
	assert.equal(textOf(html`<p>${HOSTILE}</p>`), `<p>${ESCAPED}</p>`);
	assert.equal(textOf(html`<p title="a ${HOSTILE}">${0}</p>`), `<p title="a ${ESCAPED}">0</p>`);
	assert.equal(
		textOf(html`<a href="/console/realms/${`a/b?"&`}">x</a>`),
		'<a href="/console/realms/a%2Fb%3F%22%26">x</a>',
	);
	const to = address`/console/realms/${"shop"}/secrets/${"a/b"}?env=${"prod&x=1"}`;
	assert.equal(
		textOf(html`<a href="${to}">x</a>`),
		'<a href="/console/realms/shop/secrets/a%2Fb?env=prod%26x%3D1">x</a>',
	);
});

test("nested markup and lists of markup are not escaped again", () => {
	const items = ["<", "b"].map((one) => html`<li>${one}</li>`);
	assert.equal(textOf(html`<ul>${items}</ul>`), "<ul><li>&lt;</li><li>b</li></ul>");
});

test("a value in any other place is refused, and so is markup that can run code", () => {
	const x = "x";
	const refused: (() => Html)[] = [
		() => html`<p title=${x}>`,
		() => html`<p title='${x}'>`,
		() => html`<p ${x}>`,
		() => html`<${x}>`,
		() => html`<!-- ${x} -->`,
		() => html`<script>${x}</script>`,
		() => html`<style>${x}</style>`,
		() => html`<p onclick="${x}">`,
		() => html`<p style="${x}">`,
		() => html`<iframe srcdoc="${x}"></iframe>`,
		() => html`<a href="${x}">`,
		() => html`<a href="${x}/y">`,
		() => html`<a href="javascript:${x}">`,
		() => html`<a href="/${html`<b>`}">`,
		() => html`<p title="${html`<b>`}">`,
		() => html`<p>${JSON.parse('{"markup":"<b>"}') as Html}</p>`,
		() => html`<p>${undefined as unknown as string}${{} as Html}</p>`,
	];
	for (const make of refused) assert.throws(make, String(make));
});
