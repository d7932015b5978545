/* Engines on the console: real Redis behind real Chromium, and a third party's hostile schema. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { heading, signIn, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { installEngine } from "../harness/install-engine.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

const MARKUP = `<img src=x onerror="alert(1)"><script>alert(1)</script>'&`;
const TYPED = "a secret that was typed";

let world: EngineWorld;
let redis: Redis;
let browser: Browser;

const skip = { skip: skipWithoutChromium || skipWithoutRedis };
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skip.skip !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	const folder = await mkdtemp(join(tmpdir(), "svc-engines-"));
	ends.defer(() => rm(folder, { recursive: true, force: true }));
	await installHostile(folder);
	world = await startEngineWorld({ env: { SVC_PLUGINS_DIR: folder } });
	ends.defer(world.close);
	browser = await startBrowser();
	ends.defer(() => browser.close());
});

/** Installs engines whose plugin.json has markup, or more fields than a page shows. */
async function installHostile(folder: string): Promise<void> {
	const program = { file: "engine.sh", text: "#!/bin/sh\n" };
	const properties = {
		form_token: { type: "string", description: MARKUP, default: MARKUP },
		action: { type: "string", enum: [MARKUP, "two"] },
		nested: { type: "object", properties: { deep: { type: "string", description: MARKUP } }, default: { a: MARKUP } },
		list: { type: "array", items: { type: "string" }, default: [MARKUP] },
		long: { type: "string", description: "x".repeat(50_000) },
	};
	const described = { display_name: "Odd", description: MARKUP };
	await installEngine(folder, "odd", program, { ...described, config_schema: { type: "object", properties } });
	const many = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`f${at}`, { type: "string" }]));
	await installEngine(folder, "wide", program, { config_schema: { type: "object", properties: many } });
}

const shows = (page: Page, text: string | RegExp) => page.getByRole("status").getByText(text).waitFor();
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

async function stored(): Promise<Record<string, unknown>> {
	return ok(await world.client.get<Record<string, unknown>>("/engines/keyvalue/config", { token: world.admin.token }));
}

for (const javaScriptEnabled of [true, false]) {
	const how = javaScriptEnabled ? "" : ", without JavaScript";
	test(`the admin configures an engine, which is tried before it is kept${how}`, skip, async () => {
		const { page, complaints, close } = await takeSeat(browser, { javaScriptEnabled });
		await signIn(page, world.server, world.admin, "/console/health");
		await page.getByRole("link", { name: "Engines" }).click();
		await heading(page, "Engines");
		await page.getByRole("link", { name: "keyvalue" }).click();
		await heading(page, "Engine keyvalue");
		await page.getByText("There is none: the engine serves only realms").waitFor();
		const fill = (label: RegExp, text: string) => page.getByLabel(label).fill(text);

		await fill(/^address/, "127.0.0.1:1");
		await fill(/^password/, TYPED);
		await fill(/^allowed_realms/, world.slug);
		await press(page, "Test and store");
		await page.getByRole("alert").getByText("not stored, because it does not work: ping failed").waitFor();
		assert.doesNotMatch(await page.content(), new RegExp(TYPED), "no page has what was typed");
		assert.equal(await page.getByLabel(/^address/).inputValue(), "127.0.0.1:1");
		await press(page, "Store it anyway");
		await shows(page, /The configuration is stored.*ping failed/);
		const { address, allowed_realms } = await stored();
		assert.deepEqual([address, allowed_realms], ["127.0.0.1:1", [world.slug]]);
		await page.getByRole("link", { name: "Remove this configuration" }).click();
		await heading(page, "Remove the configuration of keyvalue?");
		await press(page, "Remove the configuration");
		await shows(page, "The configuration is removed.");
		await page.getByText("There is none: the engine serves only realms").waitFor();
		assert.deepEqual(complaints, []);
		await close();
	});
}

/** Sends a form of an engine's page. @returns its status, and the message or refusal that the person sees */
async function send(
	who: { cookie: string },
	form: Record<string, string>,
	path = "keyvalue",
): Promise<[status: number, text: string]> {
	const form_token = await tokenOf(world.server, who);
	const target = `/console/engines/${path}`;
	const answer = await ask(world.server, "POST", target, { ...who, ...ours(world.server) }, { ...form, form_token });
	const isMoved = answer.status === 303;
	const shown = isMoved ? await ask(world.server, "GET", String(answer.headers.location), who) : answer;
	assert.doesNotMatch(shown.text, new RegExp(`${TYPED}|${redis.password}`));
	return [answer.status, /class="(?:notice|error)"[^>]*>([^<]*)/.exec(shown.text)?.[1] ?? ""];
}

test(
	"a form's numbers and lists are stored as such, and a mask keeps the secret of the same target alone",
	skip,
	async () => {
		const session = await enter(world.server, world.admin);
		const form = {
			...{ action: "try", "f.address": redis.address, "f.password": redis.password, "f.database": "0" },
			...{ "f.allowed_realms": `${world.slug}\r\n`, "f.max_connections": "7", "f.default_ttl": "" },
		};
		const { "f.allowed_realms": _, ...nowhere } = form;
		assert.match((await send(session, nowhere))[1], /^allowed_realms\b/);
		const [refused, why] = await send(session, { ...form, "f.max_connections": "many" });
		assert.deepEqual([refused, why.split(" ")[0]], [400, "max_connections"]);
		assert.equal((await send(session, { ...form, "f.role_capabilities": "{" }))[0], 400);
		const [kept, state] = await send(session, form);
		assert.deepEqual([kept, /: healthy$/.test(state)], [303, true], state);
		const { max_connections, default_ttl, tls, password, ...rest } = await stored();
		assert.deepEqual([max_connections, default_ttl, tls, password], [7, "1h", false, "********"]);
		assert.deepEqual([rest.allowed_realms, "exclusive" in rest], [[world.slug], false]);
		const masked = { ...form, "f.password": "********", "f.default_ttl": "20m", "f.exclusive": "yes" };
		assert.equal((await send(session, masked))[0], 303);
		assert.equal((await stored()).exclusive, true);
		ok(await world.generate("keyvalue", { role: "readonly" }));
		const moved = await send(session, { ...masked, "f.address": "127.0.0.1:1" });
		assert.match(moved[1], /a stored secret is never sent to a new target/);
		const own = `keyvalue?realm=${world.slug}`;
		const { "f.allowed_realms": __, ...ofRealm } = form;
		assert.equal((await send(session, ofRealm, own))[0], 303);
		ok(await world.generate("keyvalue", { role: "readonly" }));
		const shown = await ask(world.server, "GET", "/console/engines/keyvalue", session);
		assert.match(shown.text, new RegExp(`>${world.slug}</a></th><td[^>]*>configured</td><td[^>]*>1</td>`));
		assert.match(
			(await ask(world.server, "GET", "/console/engines", session)).text,
			/configured; 1 realm has its own</,
		);
		const path = `/realms/${world.slug}/engines/keyvalue/config`;
		assert.equal((await world.client.get<object>(path, { token: world.admin.token })).status, 200);
		for (const where of [`keyvalue/remove?realm=${world.slug}`, "keyvalue/remove"])
			assert.equal((await send(session, {}, where))[0], 303);
		assert.equal((await send(session, form, "keyvalue?realm=nowhere"))[0], 404);
		assert.equal((await send(session, form, "nothing"))[0], 404);
	},
);

test("a third party's schema is shown as text, and only as much of it as fits a page", skip, async () => {
	const session = await enter(world.server, world.admin);
	for (const path of [
		"/console/engines",
		"/console/engines/odd",
		"/console/engines/wide",
		"/console/engines/odd/remove",
	]) {
		const { status, text, headers } = await ask(world.server, "GET", path, session);
		assert.equal(status, 200, path);
		assert.doesNotMatch(text, /<img|<script>|\son\w+="/, path);
		assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/);
		assert.ok(text.length < 60_000, `${path}: ${text.length}`);
	}
	const { text } = await ask(world.server, "GET", "/console/engines/odd", session);
	for (const where of [
		'id="about.form_token">',
		'name="f.form_token" type="text" value="',
		'<option value="',
		'name="f.list"',
	])
		assert.ok(text.includes(where), where);
	assert.ok((text.match(/&lt;img src=x onerror=/g) ?? []).length >= 6);
	assert.doesNotMatch((await ask(world.server, "GET", "/console/engines/wide", session)).text, /name="f\./);
});

test("what was typed is kept for its own session and form alone", skip, async () => {
	const [mine, other] = [await enter(world.server, world.admin), await enter(world.server, world.admin)];
	const typed = { "f.address": "127.0.0.1:1", "f.password": TYPED, "f.allowed_realms": world.slug };
	assert.equal((await send(mine, { action: "try", ...typed }))[0], 409);
	const form = await ask(world.server, "GET", "/console/engines/keyvalue", mine);
	assert.match(form.text, /name="action" value="again"/);
	assert.doesNotMatch(form.text, new RegExp(TYPED));
	const others = await ask(world.server, "GET", "/console/engines/keyvalue", other);
	assert.doesNotMatch(others.text, /name="action" value="again"/);
	assert.equal((await send(other, { action: "keep" }))[0], 409);
	assert.equal((await send(mine, { action: "keep" }, "documentdb"))[0], 409);
	assert.equal((await send(mine, { action: "keep", ...typed, "f.address": "evil.test:1" }))[0], 303);
	assert.equal((await stored()).address, "127.0.0.1:1", "the draft, not the form");
	assert.equal((await send(mine, { action: "keep" }))[0], 409, "it is gone once it is stored");
	assert.doesNotMatch(world.server.stdout() + world.server.stderr(), new RegExp(TYPED));
});
