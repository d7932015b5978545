import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { heading } from "../harness/browser.ts";
import { startErrands } from "../harness/errand.ts";
import { ok } from "../harness/expect.ts";
import { secret } from "../harness/fixtures.ts";

const errand = startErrands();

/** Keys of an issuer, as it publishes them. */
function keys(): string {
	const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	return JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", alg: "ES256", use: "sig" }] });
}

errand("somebody makes a machine with a token, and deletes it", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	await secret(client, ada, slug, "DB_URL", "of prod", { environment: "prod" });
	await desk.open(`/realms/${slug}`);
	await page.getByRole("link", { name: "Machines" }).click();
	await heading(page, `Machines of ${slug}`);
	await page.getByLabel("Name").fill("deploy");
	await page.getByLabel("read", { exact: true }).check();
	await page.getByLabel("Only the secrets of").selectOption("prod");
	await page.getByText("Only some roles of engines").click();
	await page.getByLabel("pki:server").check();
	await page.getByLabel("Description").fill("<b>rolls out</b>");
	await page.getByRole("button", { name: "Make the machine" }).click();
	await shows(/\bmachine\b.*\bmade\b/);
	await heading(page, "Machine deploy");
	await page.getByText("It may: viewer, read; only secrets of prod, pki:server. <b>rolls out</b>").waitFor();

	const make = () => page.getByRole("button", { name: "Make the token" }).click();
	await page.getByLabel("Name of a new token").fill("first");
	await make();
	await shows(/\btoken\b.*\bmade\b/);
	const token = String(await page.locator("[data-value]").textContent()).trim();
	const read = () => client.get<{ value: string }>(`/realms/${slug}/secrets/DB_URL?env=prod`, { token });
	assert.equal(ok(await read()).value, "of prod");
	await page.reload();
	assert.equal((await page.content()).includes(token), false, "it is shown once");
	await page.getByRole("button", { name: /^End the token/ }).click();
	await shows(/\btoken\b.*\bended\b/);
	assert.equal((await read()).status, 401);

	await page.getByRole("link", { name: "Delete the machine" }).click();
	await heading(page, "Delete the machine deploy?");
	await page.getByRole("button", { name: "Delete the machine" }).click();
	await shows(/\bdeploy\b.*\bdeleted\b/);
	await page.getByText("None yet.").waitFor();
});

errand("somebody lets a branch of GitHub in as a machine, and not everybody", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	await desk.open(`/realms/${slug}/machines`);
	await page.getByLabel("Name").fill("deploy");
	await page.getByLabel("How a program gets in").selectOption("github");
	await page.getByRole("button", { name: "Make the machine" }).click();
	await heading(page, "Trust GitHub Actions");
	const fill = (label: string, text: string) => page.getByLabel(label).fill(text);
	await fill("Repository (optional)", "octo/shop");
	await fill("Number of the repository", "2002");
	await fill("Number of its owner", "octo");
	await fill("Name of the branch or tag", "main");
	await fill("The issuer's keys", keys());
	await page.getByRole("button", { name: "Trust it" }).click();
	await page.getByRole("alert").getByText("this must be a number").waitFor();
	const owner = page.getByLabel("Number of its owner");
	assert.deepEqual([await owner.inputValue(), await owner.getAttribute("aria-invalid")], ["octo", "true"]);
	await fill("Number of its owner", "1001");
	await page.getByRole("button", { name: "Trust it" }).click();
	await shows(/\bGitHub Actions\b/);
	const path = `/realms/${slug}/machines/deploy/trusts/github`;
	const trust = ok(await client.get<{ claims: object; single_use: boolean }>(path, { token: ada.token }));
	const ref = "refs/heads/main";
	const ids = { repository_id: "2002", repository_owner_id: "1001" };
	assert.deepEqual(trust.claims, { repository: "octo/shop", ...ids, ref, event_name: "push" });
	await page.getByRole("button", { name: "Remove the trust github" }).click();
	await shows(/\btrust\b.*\bremoved\b/);
	assert.equal((await client.get(path, { token: ada.token })).status, 404);
});

errand("a trust in another issuer names exact claims, and one in Kubernetes a service account", async (desk) => {
	const { client, page, ada, slug, shows } = desk;
	ok(await client.put(`/realms/${slug}/machines/web`, { role: "viewer" }, { token: ada.token }));
	const claimsOf = async (name: string) =>
		ok(await client.get<{ claims: object }>(`/realms/${slug}/machines/web/trusts/${name}`, { token: ada.token }))
			.claims;
	await desk.open(`/realms/${slug}/machines/web/trust?type=oidc`);
	const fill = (label: string, text: string) => page.getByLabel(label).fill(text);
	const trust = async () => {
		await fill("Issuer of the JWTs", "https://idp.example.test");
		await fill("The issuer's keys", keys());
		await page.getByRole("button", { name: "Trust it" }).click();
	};
	await fill("Claims", "email=ada@example.test");
	await trust();
	await page.getByText("the trust is too loose").waitFor();
	assert.equal(await page.getByLabel("Claims").inputValue(), "email=ada@example.test");
	await fill("Claims", "sub=deploy");
	await fill("PEM certificate of the authority", "no certificate");
	await trust();
	await page.getByRole("alert").getByText("jwks and ca_cert exclude each other").waitFor();
	await desk.open(`/realms/${slug}/machines/web/trust?type=oidc`);
	await fill("Claims", "sub=deploy\nteam=shop");
	await trust();
	await shows(/\banother issuer\b/);
	assert.deepEqual(await claimsOf("oidc"), { sub: "deploy", team: "shop" });
	assert.match(String(await page.getByRole("row", { name: "oidc" }).textContent()), /sub="deploy" team="shop"/);
	await page.getByRole("link", { name: "Trust Kubernetes" }).click();
	await fill("uid of the service account", "0190d1c4-6a3e-4cc1-8f0e-0d7a3f1b2c4d");
	await trust();
	await shows(/\bKubernetes\b/);
	assert.deepEqual(await claimsOf("kubernetes"), {
		"/kubernetes.io/serviceaccount/uid": "0190d1c4-6a3e-4cc1-8f0e-0d7a3f1b2c4d",
	});
});
