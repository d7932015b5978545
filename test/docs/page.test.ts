import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, type Page, skipWithoutChromium } from "../harness/chromium.ts";
import { type Api, api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { person, realm } from "../harness/fixtures.ts";
import { openApi, routesOf } from "../harness/openapi.ts";
import { type Server, startServer } from "../harness.ts";

const FILES = ["/docs", "/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"];

let server: Server;
let client: Api;

before(async () => {
	server = await startServer();
	client = api(server);
});
after(() => server.close());

test("the page and its files may load nothing from elsewhere and may not be framed", async () => {
	for (const path of FILES) {
		const { status, headers } = await client.send("GET", path);
		assert.equal(status, 200, path);
		const policy = String(headers["content-security-policy"]);
		assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/);
		assert.match(policy, /frame-ancestors 'none'; sandbox allow-scripts allow-same-origin allow-forms$/);
		assert.equal(headers["x-content-type-options"], "nosniff");
	}
	const { text } = await client.send("GET", "/docs");
	assert.doesNotMatch(text, /\/\/|<script>|<style|\sstyle=|\son\w+=/);
});

test("a file is sent again only when it is another one", async () => {
	for (const path of FILES) {
		const first = await client.send("GET", path);
		const etag = String(first.headers.etag);
		assert.match(etag, /^"[\w-]{43}"$/);
		const again = await client.send("GET", path, { headers: { "if-none-match": `"other", W/${etag}` } });
		assert.deepEqual([again.status, again.text, again.headers.etag], [304, "", etag]);
		const changed = await client.send("GET", path, { headers: { "if-none-match": '"other"' } });
		assert.deepEqual([changed.status, changed.text], [200, first.text]);
		const head = await client.send("HEAD", path);
		assert.deepEqual([head.status, head.text, head.headers.etag], [200, "", etag]);
	}
});

/** Clicks the first element that matches the selector, once it exists. */
const click = (page: Page, selector: string) =>
	page.until(
		`(() => { const found = document.querySelector(${JSON.stringify(selector)}); found?.click(); return !!found; })()`,
	);

test("a browser shows every operation, and a call is made with a token", { skip: skipWithoutChromium }, async () => {
	const routes = routesOf(await openApi(client));
	const owner = await person(client, "ada");
	const { slug } = await realm(client, owner);
	const page = await openPage(`${server.url}/docs`);
	try {
		await page.until(`document.querySelectorAll(".opblock").length === ${routes.length}`);

		await click(page, ".btn.authorize");
		await page.until(
			`(() => { const field = document.querySelector(".auth-container input"); field?.focus(); return field !== null && field === document.activeElement; })()`,
		);
		await page.type(owner.token);
		await click(page, ".auth-container button.authorize");
		await click(page, ".auth-container button.btn-done");

		await click(page, "#operations-realms-get_realms .opblock-summary-control");
		await click(page, "#operations-realms-get_realms .try-out__btn");
		await click(page, "#operations-realms-get_realms .execute");
		const shown = await page.until<string>(
			`document.querySelector("#operations-realms-get_realms .live-responses-table .highlight-code")?.innerText`,
		);
		assert.match(shown, new RegExp(`"slug": "${slug}"`));

		assert.deepEqual(
			page.requested.filter((url) => !url.startsWith(`${server.url}/`) && !url.startsWith("data:")),
			[],
		);
		assert.deepEqual(page.complaints, []);
		assert.equal(await page.until("JSON.stringify([...Object.entries(localStorage), document.cookie])"), '[""]');
	} finally {
		await page.close();
	}
	ok(await client.get("/health"));
});
