import assert from "node:assert/strict";
import { heading } from "../harness/browser.ts";
import { startErrands } from "../harness/errand.ts";
import { ok } from "../harness/expect.ts";
import { bind, person, secret, unique } from "../harness/fixtures.ts";

const errand = startErrands();

errand("somebody renames a realm, deletes it, and restores it under another slug", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	const { token } = ada;
	await secret(client, ada, slug, "DB_URL", "postgres://kept");
	await desk.open(`/realms/${slug}`);
	await page.getByRole("link", { name: "Settings" }).click();
	await heading(page, `Settings of ${slug}`);
	await page.getByLabel("Name", { exact: true }).fill("The shop");
	await page.getByLabel("Description").fill("what we sell");
	await page.getByRole("button", { name: "Change the name" }).click();
	await shows(/\bchanged\b/);
	const { name, description } = ok(
		await client.get<{ name: string; description: string }>(`/realms/${slug}`, { token }),
	);
	assert.deepEqual([name, description], ["The shop", "what we sell"]);

	await page.getByRole("link", { name: `Delete the realm ${slug}` }).click();
	await heading(page, `Delete the realm ${slug}?`);
	const remove = async (typed: string) => {
		await page.getByLabel("Type the slug to confirm").fill(typed);
		await page.getByRole("button", { name: "Delete the realm" }).click();
	};
	await remove("another");
	await page.getByRole("alert").getByText("what you typed is not the slug").first().waitFor();
	ok(await client.get(`/realms/${slug}`, { token }));
	await remove(slug);
	await shows(new RegExp(`\\b${slug}\\b.*\\bdeleted\\b`));
	assert.equal((await client.get(`/realms/${slug}`, { token })).status, 404);

	await heading(page, "Deleted realms");
	const other = unique("again");
	await page.getByLabel(`Slug of the restored realm, was ${slug}`).fill(other);
	await page.getByRole("button", { name: `Restore ${slug}` }).click();
	await heading(page, other);
	await shows(new RegExp(`\\b${other}\\b.*\\brestored\\b`));
	assert.equal(
		ok(await client.get<{ value: string }>(`/realms/${other}/secrets/DB_URL`, { token })).value,
		"postgres://kept",
	);
});

errand("an admin of a realm gets it from its owner, and a viewer changes nothing", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	const [bob, eve] = [await person(client, "bob"), await person(client, "eve")];
	await bind(client, ada, slug, bob, "admin");
	await bind(client, ada, slug, eve, "viewer");
	await desk.open(`/realms/${slug}/settings`);
	const transfer = async (to: string) => {
		await page.getByLabel("E-mail of the new owner").fill(to);
		await page.getByRole("button", { name: "Transfer the realm" }).click();
	};
	await transfer(eve.email);
	await page.getByRole("alert").getByText("with the role admin in this realm").waitFor();
	await desk.open(`/realms/${slug}/settings`);
	await transfer(bob.email);
	await shows(bob.email);
	await page.getByText(`${bob.email} owns the realm, and can change it.`).waitFor();
	assert.equal(await page.getByRole("button", { name: "Change the name" }).count(), 0);
	assert.equal(await page.getByRole("link", { name: `Delete the realm ${slug}` }).count(), 1);
});
