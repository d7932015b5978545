import assert from "node:assert/strict";
import { test } from "node:test";
import { anActor } from "../../testing/actor.ts";
import { createTestSystem } from "../../testing/system.ts";
import { html, targetOf } from "../html.ts";
import type { Endpoint, Visit } from "../page.ts";
import { allLeasesPage } from "./all-leases.ts";
import { deletedRealmsPage } from "./deleted-realms.ts";
import { enginePage } from "./engine.ts";
import { invitationPages } from "./invitations.ts";
import { keysPage } from "./keys.ts";
import { machinePage } from "./machine.ts";
import { machinesPage } from "./machines.ts";
import { membersPage } from "./members.ts";
import { newTokenPage } from "./new-token.ts";
import { personPage } from "./person.ts";
import { providerPage } from "./provider.ts";
import { realmSettingsPage } from "./realm-settings.ts";
import { secretPage } from "./secret.ts";
import { trustPage } from "./trust.ts";

const NOW = "2030-01-01T12:00:00.000Z";
/** Refused forms that were kept. */
const drafts: object[] = [];
const REACHED = new Error("the rule was asked");

/** Posts a form to a page whose session began this many minutes ago. @returns the address that it leads to, or "rule" when nothing was asked */
async function post(
	pages: (needs: never) => Endpoint[],
	minutes: number,
	{
		form,
		query = {},
		confirmed = Number.POSITIVE_INFINITY,
		instance_admin = true,
		provider = "",
	}: { form: object; query?: object; confirmed?: number; instance_admin?: boolean; provider?: string },
): Promise<string> {
	const now = Date.parse(NOW);
	const ago = (of: number) => now - of * 60_000;
	const session = async () => ({ created_at: new Date(ago(minutes)).toISOString(), provider });
	const fail = () => {
		throw REACHED;
	};
	const realms = new Proxy({}, { get: fail });
	const store = { accounts: { session, byEmail: fail }, realms, audit: { append: async () => undefined } };
	const needs = { system: createTestSystem(NOW), store, runtime: { entry: () => ({}) } };
	const visit = {
		actor: anActor({ instance_admin, ...(Number.isFinite(confirmed) && { confirmed_at: ago(confirmed) }) }),
		params: ["shop", "DB_URL"],
		query,
		form,
		token: html``,
		draft: { keep: (_: string, typed: object) => drafts.push(typed) },
		notes: {},
	} as unknown as Visit;
	const endpoint = pages(needs as never).find(({ method }) => method === "POST");
	try {
		const result = await endpoint?.answer(visit);
		return result !== undefined && "to" in result ? targetOf(result.to) : "a page";
	} catch (error) {
		if (error === REACHED) return "rule";
		throw error;
	}
}

test("a value of prod is shown only within 5 minutes of signing in with the password, or of giving it again", async () => {
	const reveal = (env: string) => ({ form: { action: "reveal" }, query: { env } });
	const asked = "/console/confirm?target=%2Fconsole%2Frealms%2Fshop%2Fsecrets%2FDB_URL%3Fenv%3Dprod";
	assert.equal(await post(secretPage, 4, reveal("prod")), "rule");
	assert.equal(await post(secretPage, 6, reveal("prod")), asked);
	assert.equal(await post(secretPage, 6, { ...reveal("prod"), confirmed: 4 }), "rule");
	assert.equal(await post(secretPage, 60, { ...reveal("prod"), confirmed: 6 }), asked);
	assert.equal(await post(secretPage, 60, reveal("dev")), "rule");
});

test("a session that began at a provider is asked again immediately, unless the provider says that the person has just signed in there", async () => {
	const reveal = { form: { action: "reveal" }, query: { env: "prod" }, provider: "corp" };
	assert.match(await post(secretPage, 0, reveal), /^\/console\/confirm\?/);
	assert.match(await post(secretPage, 0, { ...reveal, confirmed: 6 }), /^\/console\/confirm\?/);
	assert.equal(await post(secretPage, 0, { ...reveal, confirmed: 4 }), "rule");
});

test("a role is given only within 5 minutes, and taken away at any time", async () => {
	const asked = "/console/confirm?target=%2Fconsole%2Frealms%2Fshop%2Fmembers";
	for (const form of [
		{ action: "add", email: "eve@example.test", role: "admin" },
		{ action: "change", user_id: "eve", role: "admin" },
	]) {
		assert.equal(await post(membersPage, 6, { form }), asked);
		assert.equal(await post(membersPage, 4, { form }), "rule");
	}
	assert.equal(await post(membersPage, 60, { form: { action: "remove", user_id: "eve" } }), "rule");
});

test("what lets in, administers or replaces a key is done only within 5 minutes, and ended at any time", async () => {
	const asked = "/console/confirm?target=%2Fconsole%2Fpeople%2Fshop";
	for (const action of ["enable", "promote", "reset", "drop-factors"])
		assert.equal(await post(personPage, 6, { form: { action } }), asked, action);
	for (const action of ["disable", "demote", "revoke"])
		assert.notEqual(await reached(personPage, { action }, {}, 60), asked, action);
	const key = { form: { purpose: "record", sure: "yes" } };
	assert.equal(await post(keysPage, 6, key), "/console/confirm?target=%2Fconsole%2Fkeys");
	const settings = { action: "try", "f.address": "redis.test", "f.password": "typed" };
	for (const [pages, place] of [
		[enginePage, "engines%2Fshop"],
		[providerPage, "providers%2Fshop%3Ftype%3Doidc"],
	] as const) {
		drafts.splice(0);
		const to = await post(pages, 6, { form: { ...settings, form_token: "t" }, query: { type: "oidc" } });
		assert.equal(to, `/console/confirm?target=%2Fconsole%2F${place}`);
		assert.deepEqual(drafts, [{ "f.address": "redis.test", "f.password": "typed" }], "what was typed is kept");
		drafts.splice(0);
		const asMember = post(pages, 6, { form: settings, query: { type: "oidc" }, instance_admin: false });
		await assert.rejects(asMember, { code: "forbidden" });
		assert.deepEqual(drafts, [], "what somebody typed who may not store it is not kept");
	}
});

test("what lets somebody in is made only within 5 minutes", async () => {
	const made: [pages: Parameters<typeof post>[0], form: object, query?: object][] = [
		[invitationPages, { email: "eve@example.test", role: "admin" }],
		[newTokenPage, { name: "ci" }],
		[machinesPage, { name: "deploy", role: "viewer" }],
		[machinePage, { action: "token", name: "ci" }],
		[trustPage, { trust: "main" }, { type: "oidc" }],
	];
	for (const [pages, form, query = {}] of made) {
		assert.match(await post(pages, 6, { form, query }), /^\/console\/confirm\?target=/, pages.name);
		await assert.doesNotReject(
			async () => assert.doesNotMatch(await reached(pages, form, query), /confirm/),
			pages.name,
		);
	}
});

test("a realm is changed, deleted or restored, and a lease abandoned, only within 5 minutes", async () => {
	const deleting = (needs: never) =>
		realmSettingsPage(needs).filter(({ path }) => path.test("/console/realms/a/settings/delete"));
	const done: [pages: Parameters<typeof post>[0], form: object][] = [
		[realmSettingsPage, { name: "Shop" }],
		[deleting, { again: "shop" }],
		[deletedRealmsPage, { id: "id", was: "shop", slug: "shop" }],
		[allLeasesPage, { reason: "gone" }],
	];
	for (const [pages, form] of done) {
		assert.match(await post(pages, 6, { form }), /^\/console\/confirm\?target=/, pages.name);
		assert.doesNotMatch(await reached(pages, form, {}), /confirm/, pages.name);
	}
});

/** Says where a form leads: to the rule, or to a refusal of what it lacks here. */
async function reached(pages: Parameters<typeof post>[0], form: object, query: object, minutes = 4): Promise<string> {
	try {
		return await post(pages, minutes, { form, query });
	} catch (refused) {
		return (refused as Error).message;
	}
}
