/* Errands of an instance admin, each by keyboard alone, with a mouse, and without JavaScript. */
import assert from "node:assert/strict";
import { stuckLease } from "../harness/console-world.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, login, person, unique } from "../harness/fixtures.ts";
import { startThreeWays } from "../harness/three-ways.ts";

const errand = startThreeWays();

errand("somebody sees how long credentials live, and ends one", async (at) => {
	const { world, page } = at;
	ok(await world.generate("memo-1", { role: "readonly", ttl: "15m" }));
	await at.begin("/console");
	await at.press(new RegExp(`^${world.slug}$`));
	await at.at(world.slug);
	await at.press(/^Leases$/);
	await at.at(`Leases of ${world.slug}`);
	await at.row(/\b1[45] min\b/);
	const before = await page.getByRole("button", { name: /^End now: / }).count();
	await at.press(/^End now: /);
	await at.shown(/The credential is gone/);
	assert.equal(await page.getByRole("button", { name: /^End now: / }).count(), before - 1);
});

errand("an admin sees why a credential cannot be revoked, tries again, and abandons it", async (at) => {
	const { world } = at;
	const { name } = await stuckLease(world);
	await at.begin(`/console/realms/${world.slug}/leases`);
	await at.row(new RegExp(`${name}.*still owns a table`));
	await at.press(new RegExp(`^Try now: ${name}$`));
	await at.shown(/Not gone yet/);
	await at.press(new RegExp(`^Abandon ${name}$`));
	await at.at("Abandon this lease?");
	await at.type(/^Reason/, "deleted by hand");
	await at.press(/^Abandon the lease$/);
	await at.shown(/is abandoned/);
});

errand("an admin sees the state of the log's chain, and verifies it", async (at) => {
	await at.begin("/console");
	await at.press(/^Server$/);
	await at.at("Health");
	await at.press(/^The audit log's chain$/);
	await at.at("The audit log's chain");
	await at.press(/^Verify it now$/);
	await at.shown(/intact/);
});

errand("an admin disables and enables somebody, and makes a reset code", async (at) => {
	const { world } = at;
	const bob = await person(world.client, "bob");
	await at.begin("/console/people");
	await at.press(new RegExp(`^${bob.email}$`));
	await at.at(bob.email);
	await at.press(/^Disable/);
	await at.shown(/is disabled/);
	await at.press(/^Enable/);
	await at.shown(/is enabled/);
	await at.press(/^Make a reset code/);
	await at.shown(/reset code .* is made/);
	await at.press(/^Make \S+ an instance admin$/);
	await at.shown(/now an instance admin/);
	await at.press(/^End being an instance admin/);
	await at.shown(/no longer an instance admin/);
});

errand("an admin ends one session and one API token of somebody, and keeps the others", async (at) => {
	const { world, page } = at;
	const bob = await person(world.client, "bob");
	const [first, second] = [await apiToken(world.client, bob, "read"), await apiToken(world.client, bob, "read")];
	const other = await login(world.client, bob);
	const isOpen = async (token: string) => (await world.client.get("/auth/whoami", { token })).status === 200;
	await at.begin(`/console/people/${bob.id}`);
	await at.press(/^End the session that began/);
	await at.at("End this session?");
	await at.press(/^End the session$/);
	await at.shown(/The session has ended/);
	assert.deepEqual((await Promise.all([bob.token, other].map(isOpen))).sort(), [false, true]);
	await at.press(new RegExp(`^End the token ${first.name}$`));
	await at.at(`End the token ${first.name}?`);
	await at.press(/^Keep it$/);
	await at.at(bob.email);
	await at.press(new RegExp(`^End the token ${first.name}$`));
	await at.at(`End the token ${first.name}?`);
	await at.press(/^End the token$/);
	await at.shown(/The token has ended/);
	assert.deepEqual([await isOpen(first.token), await isOpen(second.token)], [false, true]);
	assert.equal(await page.getByRole("row", { name: first.name }).count(), 0);
});

errand("an admin makes a backup and rotates a key", async (at) => {
	await at.begin("/console/backups");
	await at.press(/^Make a backup$/);
	await at.shown(/is made and verified/);
	await at.press(/^Keys$/);
	await at.at("Keys");
	await at.choose(/^Purpose$/, "session");
	await at.tick(/^Yes, replace/);
	await at.press(/^Rotate the key$/);
	await at.shown(/The key is rotated/);
});

errand("an admin sees a refused configuration of an engine, stores it anyway, and removes it", async (at) => {
	const { world, page } = at;
	await at.begin("/console/engines");
	await at.press(/^keyvalue$/);
	await at.at("Engine keyvalue");
	await at.type(/^address/, "127.0.0.1:1");
	await at.type(/^password/, "a password");
	await at.type(/^allowed_realms/, world.slug);
	await at.press(/^Test and store$/);
	await at.refused(/does not work/);
	assert.equal(await page.getByLabel(/^address/).inputValue(), "127.0.0.1:1");
	await at.press(/^Store it anyway$/);
	await at.shown(/The configuration is stored/);
	await at.press(/^Remove this configuration$/);
	await at.at("Remove the configuration of keyvalue?");
	await at.press(/^Remove the configuration$/);
	await at.shown(/is removed/);
});

errand("an admin adds a provider that does not work yet, and removes it", async (at) => {
	const name = unique("idp");
	await at.begin("/console/providers");
	await at.type(/^Name, which/, name);
	await at.choose(/^Type$/, "ldap");
	await at.press(/^Go on$/);
	await at.at(`Provider ${name}`);
	await at.type(/^display_name/, "The directory");
	await at.type(/^url/, "ldap://127.0.0.1:1");
	await at.type(/^user_base_dn/, "ou=people,dc=test");
	await at.press(/^Test and store$/);
	await at.refused(/not stored/);
	await at.press(/^Store it anyway$/);
	await at.refused(/stored although/);
	await at.press(/^Remove the provider$/);
	await at.at(`Remove the provider ${name}?`);
	await at.press(/^Remove the provider$/);
	await at.shown(/is removed/);
});

errand("an admin reads what the doctor finds, and how near the limits are", async (at) => {
	await at.begin("/console/health");
	await at.press(/^Doctor$/);
	await at.at("Doctor");
	await at.press(/^Limits$/);
	await at.at("Limits");
	await at.row(/%|of/);
});
