/* Errands with people, machines and one's own account, each by keyboard alone, with a mouse, and without JavaScript. */
import { bind, person, unique } from "../harness/fixtures.ts";
import { startThreeWays } from "../harness/three-ways.ts";
import { nextCode } from "../harness/totp.ts";

const errand = startThreeWays();

errand("somebody invites a person, and gives, changes and removes the role of another", async (at) => {
	const { world, hasScript } = at;
	const bob = await person(world.client, "bob");
	await at.begin(`/console/realms/${world.slug}/members`);
	await at.type(/^E-mail of the account$/, bob.email);
	await at.choose(/^Role$/, "viewer");
	await at.press(/^Give the role$/);
	await at.shown(/role is given/);
	await at.choose(new RegExp(`^New role of ${bob.email}$`), "member");
	await at.press(new RegExp(`^Change the role of ${bob.email}$`));
	await at.shown(/role is changed/);
	await at.press(new RegExp(`^Remove ${bob.email}$`));
	await at.shown(/role is removed/);
	const guest = `${unique("guest")}@example.test`;
	await at.type(/^E-mail of the account$/, guest);
	await at.press(/^Invite$/);
	await at.at(`Invite somebody into ${world.slug}`);
	await at.shown(/is invited/);
	if (hasScript) {
		await at.press(/^Copy the link$/);
		await at.shown(/Copied/);
	}
	await at.press(/^Open invitations$/);
	await at.at("Open invitations");
	await at.press(new RegExp(`^End the invitation of ${guest}$`));
	await at.shown(/ended/);
});

errand("somebody sees why a person may not write", async (at) => {
	const { world } = at;
	const eve = await person(world.client, "eve");
	await bind(world.client, world.admin, world.slug, eve, "viewer");
	await at.begin(`/console/realms/${world.slug}/members`);
	await at.type(/^E-mail, or empty/, eve.email);
	await at.press(/^Explain$/);
	await at.at(`What ${eve.email} may do in ${world.slug}`);
	await at.row(/write values.*no/);
});

errand("somebody makes a machine, a token of it and a trust, and removes them", async (at) => {
	const { world } = at;
	const name = unique("typed");
	await at.begin(`/console/realms/${world.slug}/machines`);
	await at.type(/^Name$/, name);
	await at.tick(/^write$/);
	await at.press(/^Make the machine$/);
	await at.at(`Machine ${name}`);
	await at.press(/^Make the token$/);
	await at.shown(/The token is made/);
	await at.press(/^Trust Kubernetes$/);
	await at.at("Trust Kubernetes");
	await at.type(/^uid of the service account$/, "0190d1c4-6a3e-4cc1-8f0e-0d7a3f1b2c4d");
	await at.type(/^Issuer/, "no address");
	await at.press(/^Trust it$/);
	await at.refused(/issuer must be/);
	await at.open(`/console/realms/${world.slug}/machines/${name}`);
	await at.press(/^End the token/);
	await at.shown(/token has ended/);
	await at.press(/^Delete the machine/);
	await at.at(`Delete the machine ${name}?`);
	await at.press(/^Delete the machine$/);
	await at.shown(/is deleted/);
});

errand("somebody makes and ends a token, and ends a session elsewhere", async (at) => {
	const bob = await person(at.world.client, "bob");
	const name = unique("typed");
	await at.begin("/console", bob);
	await at.press(/^Your account/);
	await at.at("Your account");
	await at.press(/^Make a token$/);
	await at.at("New API token");
	await at.type(/^Name/, name);
	await at.press(/^Make the token$/);
	await at.shown(/The token is made/);
	await at.press(/^Your tokens$/);
	await at.at("Your account");
	await at.press(new RegExp(`^End the token ${name}$`));
	await at.shown(/The token has ended/);
	await at.press(/^Where you are signed in$/);
	await at.at("Your sessions");
	await at.press(/^End the session that began/);
	await at.shown(/The session has ended/);
});

errand("somebody changes the password, after a mistake, and signs in with the new one", async (at) => {
	const bob = await person(at.world.client, "bob");
	const password = "another password of bob";
	await at.begin("/console/account/identities", bob);
	const change = async (current: string) => {
		await at.type(/^Current password$/, current);
		await at.type(/^New password/, password);
		await at.type(/^The same password again$/, password);
		await at.press(/^Change the password$/);
	};
	await change("not this one");
	await at.refused(/password/);
	await change(bob.password);
	await at.shown(/password is changed/);
	await at.press(/^Sign out$/);
	await at.at("Sign in");
	await at.begin("/console", { ...bob, password });
	await at.at("Realms");
});

errand("somebody adds an authenticator app, signs in with its code, and removes it", async (at) => {
	const { page } = at;
	const bob = await person(at.world.client, "bob");
	await at.begin("/console/account/factors", bob);
	await at.type(/^Password of your account$/, bob.password);
	await at.press(/^Show the QR code$/);
	await at.shown(/Confirm the app/);
	const secret = String(await page.locator("#once-text").textContent()).trim();
	await at.type(/^First code of the app$/, await nextCode(secret));
	await at.press(/^Confirm$/);
	await at.shown(/Confirmed/);
	const [, code = ""] = String(await page.locator("[data-value]").textContent())
		.trim()
		.split("\n");
	await at.press(/^Sign out$/);
	await at.at("Sign in");
	await at.type(/^E-mail$/, bob.email);
	await at.type(/^Password$/, bob.password);
	await page.keyboard.press("Enter");
	await page.getByLabel("Code of your authenticator app").waitFor();
	await at.type(/^Password$/, bob.password);
	await at.type(/^Code of your/, code);
	await page.keyboard.press("Enter");
	await at.at("Realms");
	await at.open("/console/account/factors");
	await at.press(/^Remove$/);
	await at.type(/^Password of your account$/, bob.password);
	await at.type(/^Code of your app/, await nextCode(secret));
	await at.press(/^Remove the app$/);
	await at.shown(/is removed/);
});

errand("somebody confirms who they are, after a mistake", async (at) => {
	const { world } = at;
	await at.begin("/console/confirm?target=%2Fconsole%2Faccount");
	await at.at("Is it you?");
	await at.type(/^Password of your account$/, "not this one");
	await at.press(/^Confirm$/);
	await at.refused(/password/);
	await at.type(/^Password of your account$/, world.admin.password);
	await at.press(/^Confirm$/);
	await at.shown(/Confirmed/);
	await at.at("Your account");
});
