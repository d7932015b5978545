import assert from "node:assert/strict";
import { heading } from "../harness/browser.ts";
import { startErrands } from "../harness/errand.ts";
import { ok } from "../harness/expect.ts";
import { secret } from "../harness/fixtures.ts";

const errand = startErrands();
const KEY = "services/a.b-c/KEY";

errand("somebody deletes a secret, restores it, and removes it permanently", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	await secret(client, ada, slug, KEY, "one", { environment: "prod" });
	await secret(client, ada, slug, KEY, "two", { environment: "prod" });
	const read = () =>
		client.get<{ value: string }>(`/realms/${slug}/secrets/${encodeURIComponent(KEY)}?env=prod`, { token: ada.token });
	await desk.open(`/realms/${slug}/secrets/${encodeURIComponent(KEY)}?env=prod`);
	await page.getByRole("link", { name: /^Delete/ }).click();
	await heading(page, `Delete ${KEY} in prod?`);
	assert.equal(ok(await read()).value, "two", "asking deletes nothing");
	await page.getByRole("button", { name: "Delete the secret" }).click();
	await shows(new RegExp(`\\b${KEY}\\b.*\\bprod\\b`));
	assert.equal((await read()).status, 404);

	await page.getByRole("button", { name: `Restore ${KEY} in prod` }).click();
	await shows(/\brestored\b.*\bversion 4\b/);
	assert.equal(ok(await read()).value, "two");
	assert.equal(await page.getByRole("button", { name: /^Roll back to version/ }).count(), 1);

	await page.getByRole("link", { name: /^Delete/ }).click();
	await page.getByRole("button", { name: "Delete the secret" }).click();
	await page.getByRole("link", { name: `Remove permanently: ${KEY} in prod` }).click();
	const removing = page.getByRole("button", { name: "Remove it permanently" });
	await page.getByLabel("Type the key").fill("another");
	await removing.click();
	await page.getByRole("alert").getByText("what you typed is not the key").first().waitFor();
	await page.getByLabel("Type the key").fill(KEY);
	await removing.click();
	await shows(/\bpermanently\b/);
	await page.getByText("Nothing to restore.").waitFor();
});
