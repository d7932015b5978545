import assert from "node:assert/strict";
import { heading } from "../harness/browser.ts";
import { startErrands } from "../harness/errand.ts";
import { secret } from "../harness/fixtures.ts";

const errand = startErrands();

errand("somebody compares environments and promotes what differs", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	const set = (key: string, value: string, environment: string) =>
		secret(client, ada, slug, key, value, { environment });
	await set("SAME", "alike-in-both", "staging");
	await set("SAME", "alike-in-both", "prod");
	await set("OTHER", "of-staging", "staging");
	await set("OTHER", "of-prod", "prod");
	await set("NEW", "made-in-staging", "staging");
	await set("ONLY", "lives-in-prod", "prod");
	const read = async (key: string) =>
		(await client.get<{ value: string }>(`/realms/${slug}/secrets/${key}?env=prod`, { token: ada.token })).body.value;

	await desk.open(`/realms/${slug}`);
	await page.getByRole("link", { name: "Compare environments" }).click();
	await heading(page, `Compare environments of ${slug}`);
	await page.getByLabel("Compare").selectOption("staging");
	await page.getByLabel("with").selectOption("prod");
	await page.getByRole("button", { name: "Compare" }).click();
	await page.getByText("1 key has the same value in both").waitFor();
	const said = async (key: string) => page.getByRole("row", { name: new RegExp(`^${key} `) }).textContent();
	assert.match(String(await said("OTHER")), /v1v1differs/);
	assert.match(String(await said("NEW")), /v1not setonly in staging: new in prod/);
	assert.match(String(await said("ONLY")), /not setv1only in prodnot in staging$/);
	assert.doesNotMatch(await page.content(), /of-staging|of-prod|alike-in-both|made-in-staging|lives-in-prod/);

	await page.getByText("the same number does not mean the same value").waitFor();

	const promote = async () => {
		await page.getByRole("button", { name: "Promote the ticked keys" }).click();
		await heading(page, "Promote 1 key from staging to prod?");
	};
	const confirm = () => page.getByRole("button", { name: "Promote 1 key to prod" }).click();
	const tick = (name: string) => page.getByRole("checkbox", { name }).check();
	await page.getByRole("button", { name: "Promote the ticked keys" }).click();
	await shows("Nothing is promoted");
	await tick("Promote NEW");
	await promote();
	assert.match(String(await said("NEW")), /version 1 of stagingnew in prod$/);
	assert.equal((await client.get(`/realms/${slug}/secrets/NEW?env=prod`, { token: ada.token })).status, 404);
	await confirm();
	await shows("Promoted from staging to prod: NEW.");
	assert.deepEqual([await read("NEW"), await read("OTHER")], ["made-in-staging", "of-prod"]);

	await tick("Promote OTHER");
	await promote();
	assert.match(String(await said("OTHER")), /version 1 of stagingreplaces version 1 of prod$/);
	await set("OTHER", "of-a-colleague", "prod");
	await confirm();
	assert.match(String(await page.getByRole("alert").textContent()), /\bchanged\b/);
	assert.equal(await read("OTHER"), "of-a-colleague", "what was not seen is not overwritten");
});
