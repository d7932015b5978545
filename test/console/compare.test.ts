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
	await page.getByRole("link", { name: "staging with prod", exact: true }).click();
	await heading(page, `Compare environments of ${slug}`);
	await page.getByText("1 key has the same value in both").waitFor();
	const said = async (key: string) => page.getByRole("row", { name: new RegExp(`^${key} `) }).textContent();
	assert.match(String(await said("OTHER")), /v1v1differs/);
	assert.match(String(await said("NEW")), /v1not setonly in staging: new in prod/);
	assert.match(String(await said("ONLY")), /not setv1only in prodnot in stagingno$/);
	assert.doesNotMatch(await page.content(), /of-staging|of-prod|alike-in-both|made-in-staging|lives-in-prod/);

	await page.getByText("the same number does not mean the same value").waitFor();

	const inAlert = (text: RegExp) => page.getByRole("alert").filter({ hasText: text }).waitFor();
	const promote = (key: string) => page.getByRole("button", { name: `Promote ${key}`, exact: true }).click();
	await promote("NEW");
	await shows("Promoted from staging to prod: NEW.");
	assert.deepEqual([await read("NEW"), await read("OTHER")], ["made-in-staging", "of-prod"]);

	await set("OTHER", "of-a-colleague", "prod");
	await promote("OTHER");
	await inAlert(/changed since you looked/);
	assert.equal(await read("OTHER"), "of-a-colleague", "what was not seen is not overwritten");
	assert.match(String(await said("OTHER")), /v1v2differs/, "it is compared again");
	await promote("OTHER");
	await shows("Promoted from staging to prod: OTHER.");
	assert.equal(await read("OTHER"), "of-staging");
});

errand("somebody promotes several keys together, after a page that names them", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	for (const key of ["ONE", "TWO", "LEFT"]) await secret(client, ada, slug, key, key, { environment: "dev" });
	const status = async (key: string) =>
		(await client.get(`/realms/${slug}/secrets/${key}?env=test`, { token: ada.token })).status;

	await desk.open(`/realms/${slug}`);
	await page.getByRole("link", { name: "Compare environments" }).click();
	await heading(page, `Compare environments of ${slug}`);
	await page.getByLabel("Compare").selectOption("dev");
	await page.getByLabel("with").selectOption("test");
	await page.getByRole("button", { name: "Compare" }).click();
	await page.getByRole("button", { name: "Promote the ticked keys" }).click();
	await page.getByRole("alert").filter({ hasText: "Nothing is promoted" }).waitFor();
	await page.getByRole("checkbox", { name: "Tick ONE" }).check();
	const second = page.getByRole("checkbox", { name: "Tick TWO" });
	await second.check();
	await second.press("Enter");
	await heading(page, "Promote 2 keys from dev to test?");
	await page.getByRole("row", { name: /^TWO version 1 of dev new in test$/ }).waitFor();
	assert.deepEqual([await status("ONE"), await status("TWO")], [404, 404]);
	await page.getByRole("button", { name: "Promote 2 keys to test" }).click();
	await shows("Promoted from dev to test: ONE, TWO.");
	assert.deepEqual([await status("ONE"), await status("TWO"), await status("LEFT")], [200, 200, 404]);
});
