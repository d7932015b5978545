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
	await page.getByText(/^1 key\b/).waitFor();
	/** Reads the numbers of versions in the first two cells of a key's row. */
	const versions = async (key: string) => {
		const cells = await page
			.getByRole("row", { name: new RegExp(`^${key} `) })
			.getByRole("cell")
			.allTextContents();
		return cells.slice(0, 2).map((text) => /\d+/.exec(text)?.[0]);
	};
	assert.deepEqual(await versions("OTHER"), ["1", "1"]);
	assert.deepEqual(await versions("NEW"), ["1", undefined]);
	assert.deepEqual(await versions("ONLY"), [undefined, "1"]);
	assert.equal(await page.getByRole("checkbox", { name: "Promote ONLY" }).count(), 0);
	assert.doesNotMatch(await page.content(), /of-staging|of-prod|alike-in-both|made-in-staging|lives-in-prod/);

	const promote = async () => {
		await page.getByRole("button", { name: "Promote the ticked keys" }).click();
		await heading(page, "Promote 1 key from staging to prod?");
	};
	const confirm = () => page.getByRole("button", { name: "Promote 1 key to prod" }).click();
	const tick = (name: string) => page.getByRole("checkbox", { name }).check();
	await page.getByRole("button", { name: "Promote the ticked keys" }).click();
	await shows(/\bpromoted\b/);
	await tick("Promote NEW");
	await promote();
	assert.deepEqual(await versions("NEW"), ["1", undefined]);
	assert.equal((await client.get(`/realms/${slug}/secrets/NEW?env=prod`, { token: ada.token })).status, 404);
	await confirm();
	await shows(/\bNEW\b/);
	assert.deepEqual([await read("NEW"), await read("OTHER")], ["made-in-staging", "of-prod"]);

	await tick("Promote OTHER");
	await promote();
	assert.deepEqual(await versions("OTHER"), ["1", "1"]);
	await set("OTHER", "of-a-colleague", "prod");
	await confirm();
	await page.getByRole("alert").waitFor();
	assert.equal(await read("OTHER"), "of-a-colleague", "what was not seen is not overwritten");
});
