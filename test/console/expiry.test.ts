import assert from "node:assert/strict";
import { heading } from "../harness/browser.ts";
import { startErrands } from "../harness/errand.ts";
import { ok } from "../harness/expect.ts";
import { ending, secret } from "../harness/fixtures.ts";

const errand = startErrands();

errand("somebody sets the expiry of a secret, changes it alone, and sees what has expired", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	const { token } = ada;
	const versions = async () =>
		ok(
			await client.get<{ versions: { version: number; comment: string; expires_at: string | null }[] }>(
				`/realms/${slug}/secrets/CERT/versions`,
				{ token },
			),
		).versions.map(({ version, comment, expires_at }) => [version, comment, expires_at]);
	await desk.open(`/realms/${slug}/secret?key=CERT&env=dev`);
	await page.getByRole("textbox", { name: "New value" }).fill("the-value");
	await page.getByLabel("Comment").fill("first");
	await page.getByLabel("Expires (UTC); empty for never").fill("2040-01-31T12:00");
	await page.getByRole("button", { name: "Write" }).click();
	await shows(/\b1\b/);
	assert.deepEqual(await versions(), [[1, "first", "2040-01-31T12:00:00.000Z"]]);

	const expiry = page.getByRole("region", { name: "Expiry" });
	await expiry.getByText("Expires: 2040-01-31 12:00 UTC.").waitFor();
	const unfold = () => expiry.getByText("Change it without a new value").click();
	await unfold();
	await expiry.getByLabel("Expires (UTC)").fill("2041-02-01T00:00:30");
	await expiry.getByRole("button", { name: "Change the expiry" }).click();
	await shows(/\b2\b/);
	assert.deepEqual((await versions())[0], [2, "first", "2041-02-01T00:00:30.000Z"]);
	assert.equal(ok(await client.get<{ value: string }>(`/realms/${slug}/secrets/CERT`, { token })).value, "the-value");
	assert.doesNotMatch(await page.content(), /the-value/);
	assert.equal(await page.getByLabel("Expires (UTC)").first().inputValue(), "2041-02-01T00:00:30");
	await unfold();
	await expiry.getByLabel("Expires (UTC)").fill("");
	await expiry.getByRole("button", { name: "Change the expiry" }).click();
	await shows(/\b3\b/);
	assert.deepEqual((await versions())[0], [3, "first", null]);

	const [, end_ms] = await ending((expires_at) =>
		client.post(`/realms/${slug}/secrets`, { key: "CERT", value: "short", expires_at }, { token }),
	);
	await secret(client, ada, slug, "OTHER", "one");
	while (Date.now() <= end_ms) await page.waitForTimeout(10);
	await desk.open(`/realms/${slug}`);
	await heading(page, slug);
	await page.getByRole("row", { name: /^CERT v4 expired/ }).waitFor();
	await page.getByRole("link", { name: "CERT" }).click();
	await page.getByText("It has expired: replace its value.").waitFor();
	await page.getByRole("row", { name: /^4 .*expired/ }).waitFor();
});
