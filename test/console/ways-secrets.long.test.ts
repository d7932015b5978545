/* Errands with secrets, each by keyboard alone, with a mouse, and without JavaScript. */
import assert from "node:assert/strict";
import { ok } from "../harness/expect.ts";
import { secret, secretPath, unique } from "../harness/fixtures.ts";
import { startThreeWays } from "../harness/three-ways.ts";

const errand = startThreeWays();

const KEY = "payments/DB_URL";

errand("somebody finds a key and reveals it, for 30 seconds and 30 more", async (at) => {
	const { world, page, hasScript, press } = at;
	await at.begin("/console");
	await at.at("Realms");
	await press(new RegExp(`^${world.slug}$`));
	await at.at(world.slug);
	await at.type(/^Find a key$/, "db_url");
	await page.keyboard.press("Enter");
	await at.sees("1 key, with");
	await press(/^payments\/DB_URL$/);
	await at.at(`${KEY} in dev`);
	for (const button of [/^Reveal$/, /^Reveal for 30 seconds more$/]) {
		await press(button);
		await at.sees("postgres://payments@db.dev.internal");
	}
	if (!hasScript) return;
	await press(/^Copy$/);
	await at.shown(/Copied/);
});

errand("somebody writes a version with a comment, sees who did, and goes back to the one before", async (at) => {
	const { world, page } = at;
	const key = unique("TYPED");
	await at.begin(`/console/realms/${world.slug}`);
	await at.type(/^Key$/, key);
	await at.choose(/^Environment$/, "staging");
	await at.press(/^Go on$/);
	await at.at(`${key} in staging`);
	for (const value of ["one", "two"]) {
		await at.type(/^New value$/, value);
		await at.type(/^Comment/, `why ${value}`);
		await at.press(/^Write$/);
		await at.shown(value === "one" ? /Version 1/ : /Version 2/);
	}
	assert.match(String(await page.getByRole("row", { name: /why two/ }).textContent()), new RegExp(world.admin.email));
	await at.press(/^Roll back to version 1$/);
	await at.shown(/as version 3/);
});

errand("somebody lets a secret expire, and changes the expiry alone", async (at) => {
	const { world, page } = at;
	const key = unique("ENDING");
	await secret(world.client, world.admin, world.slug, key, "one", { environment: "dev" });
	await at.begin(`/console/realms/${world.slug}/secrets/${key}?env=dev`);
	await at.press(/^Change it without a new value$/);
	// A field for a date and a time takes digits part by part, which only fill() does the same way everywhere.
	await page.locator("#expiry").fill("2099-01-31T12:00:00");
	await at.press(/^Change the expiry$/);
	await at.shown(/Version 2 is written: the same value/);
	await at.sees("2099-01-31 12:00 UTC");
});

errand("somebody deletes a secret and restores it, then removes it permanently", async (at) => {
	const { world } = at;
	const key = unique("RESTORED");
	await secret(world.client, world.admin, world.slug, key, "one", { environment: "dev" });
	const remove = async () => {
		await at.open(`/console/realms/${world.slug}/secrets/${key}?env=dev`);
		await at.press(new RegExp(`^Delete ${key} in dev$`));
		await at.at(`Delete ${key} in dev?`);
		await at.press(/^Delete the secret$/);
		await at.shown(/deleted/);
		await at.at(`Deleted secrets of ${world.slug}`);
	};
	await at.begin("/console");
	await remove();
	await at.press(new RegExp(`^Restore ${key}`));
	await at.shown(/restored/);
	const path = `${secretPath(world.slug, key)}?env=dev`;
	assert.equal(ok(await world.client.get<{ value: string }>(path, world.admin)).value, "one");
	await remove();
	await at.press(new RegExp(`^Remove permanently: ${key}`));
	await at.at(`Permanently remove ${key} in dev?`);
	await at.type(/^Type the key/, "another");
	await at.press(/^Remove it permanently$/);
	await at.refused(/not the key/);
	await at.type(/^Type the key/, key);
	await at.press(/^Remove it permanently$/);
	await at.shown(/removed permanently/);
});

errand("somebody sees what differs between two environments, and promotes a key", async (at) => {
	const { world } = at;
	const key = unique("ONLY_IN_TEST");
	await secret(world.client, world.admin, world.slug, key, "one", { environment: "test" });
	await at.begin(`/console/realms/${world.slug}`);
	await at.press(/^Compare environments$/);
	await at.at(`Compare environments of ${world.slug}`);
	await at.choose(/^Compare$/, "test");
	await at.choose(/^with$/, "staging");
	await at.press(/^Compare$/);
	await at.row(key);
	await at.tick(new RegExp(key));
	await at.press(/^Promote the ticked keys$/);
	await at.at("Promote 1 key from test to staging?");
	await at.press(/^Promote 1 key to staging$/);
	await at.shown(new RegExp(key));
});

errand("somebody sees who read a secret, and narrows the log to a day", async (at) => {
	const { world, page } = at;
	await at.begin(`/console/realms/${world.slug}/secrets/${encodeURIComponent(KEY)}?env=prod`);
	await at.press(/^Who read and wrote payments\/DB_URL in prod$/);
	await at.at(`Audit of ${world.slug}`);
	await at.row(/secret\.read.*a-colleague/);
	await at.press(/^The same as a table$/);
	await at.press(/^20\d\d-\d\d-\d\d$/);
	await at.row(/secret\.read.*a-colleague/);
	assert.match(page.url(), /since=20\d\d-\d\d-\d\d&until=/);
	await at.type(/^Event, such as/, "secret.set");
	await at.press(/^Show$/);
	await at.row(/secret\.set/);
	assert.equal(await page.getByRole("row", { name: /secret\.read/ }).count(), 0);
});

errand("somebody makes a realm, renames it, deletes it and restores it", async (at) => {
	const slug = unique("garden");
	await at.begin("/console");
	await at.type(/^Slug/, slug);
	await at.type(/^Name$/, "Garden");
	await at.press(/^Make the realm$/);
	await at.at(slug);
	await at.press(/^Settings$/);
	await at.at(`Settings of ${slug}`);
	await at.type(/^Name$/, "Orchard");
	await at.press(/^Change the name$/);
	await at.shown(/are changed/);
	await at.press(new RegExp(`^Delete the realm ${slug}$`));
	await at.at(`Delete the realm ${slug}?`);
	await at.type(/^Type the slug/, "another");
	await at.press(/^Delete the realm$/);
	await at.refused(/not the slug/);
	await at.type(/^Type the slug/, slug);
	await at.press(/^Delete the realm$/);
	await at.shown(/is deleted/);
	await at.at("Deleted realms");
	await at.press(new RegExp(`^Restore ${slug}$`));
	await at.shown(/is restored/);
	await at.at(slug);
});
