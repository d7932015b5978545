/* A script on /docs, which has the console's origin: it reaches no page of the console. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { signIn, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { api } from "../harness/client.ts";
import { person, realm } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

/** Waits for a frame, loaded or refused. @returns what a script then reads in it */
const READ_FRAME = `new Promise((done) => {
	const frame = document.createElement("iframe");
	frame.onload = frame.onerror = () => {
		try { done(frame.contentDocument?.documentElement.outerHTML ?? ""); } catch (error) { done(error.name); }
	};
	frame.src = "/console";
	document.body.append(frame);
})`;

/** Sends a form without a token, as a script can. @returns the directive of the policy that stops it */
const SEND_FORM = `new Promise((done) => {
	document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
	const form = document.createElement("form");
	form.method = "post";
	form.action = "/console/sign-out";
	document.body.append(form);
	form.submit();
})`;

test("a script on /docs opens, frames, fetches and posts to no page of somebody who is signed in", {
	skip: skipWithoutChromium,
}, async () => {
	const server = await startServer();
	ends.defer(() => server.close());
	const browser = await startBrowser();
	ends.defer(() => browser.close());
	const client = api(server);
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada, "secret-realm");
	const { page, context, close } = await takeSeat(browser);
	await signIn(page, server, ada);
	await page.getByRole("link", { name: slug, exact: true }).waitFor();
	await page.goto(`${server.url}/docs`);
	assert.equal(await page.evaluate("window.open('/console') === null"), true);
	assert.equal(context.pages().length, 1);
	const fetched = await page.evaluate<[number, string]>(
		"fetch('/console').then(async (answer) => [answer.status, await answer.text()])",
	);
	assert.equal(fetched[0], 403);
	const framed = await page.evaluate<string>(READ_FRAME);
	for (const text of [fetched[1], framed]) assert.doesNotMatch(text, new RegExp(`${slug}|form_token|${ada.email}`));
	assert.equal(await page.evaluate(SEND_FORM), "form-action");
	await page.goto(`${server.url}/console`);
	await page.getByRole("button", { name: "Sign out" }).waitFor();
	await close();
});
