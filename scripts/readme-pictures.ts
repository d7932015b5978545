import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { signIn, startBrowser, takeSeat } from "../test/harness/browser.ts";
import { type Api, api } from "../test/harness/client.ts";
import { ok } from "../test/harness/expect.ts";
import { login, type Person } from "../test/harness/fixtures.ts";
import type { ApiToken, User } from "../test/harness/resources.ts";
import { startServer } from "../test/harness.ts";

/** `npm run readme-pictures`: the README's pictures in `docs/pictures/`, of a month in an invented shop. */
const folder = resolve(import.meta.dirname, "../docs/pictures");
const DAYS = 29;
const WIDTH = 960;
const HEIGHT = 600;
const MARGIN = 16;
const PASSWORD = "an invented password";
const KEY = "payments/DB_URL";

/** Somebody of the shop, and a token that outlives the days. */
interface Colleague extends Person {
	readonly lasting: string;
}

async function colleague(client: Api, name: string): Promise<Colleague> {
	const email = `${name.toLowerCase()}@example.com`;
	const { id } = ok(await client.post<User>("/auth/register", { email, password: PASSWORD, name }), 201);
	const who = { id, email, password: PASSWORD };
	const token = await login(client, who);
	const body = { name: "month", scopes: "read,write,delete" };
	const { token: lasting } = ok(await client.post<ApiToken>("/auth/tokens", body, { token }), 201);
	return { ...who, token, lasting };
}

/** Fills the realm `shop`. */
async function fill(client: Api, ada: Colleague, others: readonly Colleague[]): Promise<void> {
	const { lasting: token } = ada;
	ok(await client.post("/realms", { slug: "shop", name: "Shop" }, { token }), 201);
	const [bob, eve] = others;
	for (const [who, role] of [
		[bob, "member"],
		[eve, "viewer"],
	] as const)
		ok(await client.post("/realms/shop/policy/bindings", { user_id: who?.id, role }, { token }), 201);
	const set = (key: string, environment: string, value: string, comment = "") =>
		client.post("/realms/shop/secrets", { key, environment, value, comment }, { token });
	for (const environment of ["dev", "test", "staging", "prod"]) {
		ok(await set(KEY, environment, `postgres://shop:${environment}@db.internal/shop`, "first set up"), 201);
		ok(await set("cache/PASSWORD", environment, `cache ${environment}`), 201);
		if (environment !== "test") ok(await set("mail/SMTP_PASSWORD", environment, `mail ${environment}`), 201);
		if (environment !== "prod") ok(await set("search/API_KEY", environment, "the same key"), 201);
	}
	ok(await set("FEATURE_FLAGS", "dev", "basket=on"), 201);
}

/** One day in the shop: programs and people read, now and then somebody writes or is refused. */
async function live(client: Api, day: number, [ada, bob, eve]: readonly Colleague[]): Promise<void> {
	const key = encodeURIComponent(KEY);
	const isWeekend = day % 7 > 4;
	const reads = isWeekend ? 2 : 6 + ((day * 5) % 9);
	for (let read = 0; read < reads; read++) {
		const environment = read % 3 === 0 ? "dev" : "prod";
		ok(await client.get(`/realms/shop/secrets/${key}?env=${environment}`, { token: bob?.lasting ?? "" }));
	}
	ok(await client.get("/realms/shop/secrets?env=prod", { token: ada?.lasting ?? "" }));
	const denied = day === 12 ? 5 : day === 23 ? 3 : day % 9 === 0 ? 1 : 0;
	for (let count = 0; count < denied; count++)
		await client.post(
			"/realms/shop/secrets",
			{ key: KEY, value: "x", environment: "prod" },
			{ token: eve?.lasting ?? "" },
		);
	const comment = { 8: "rotated after the audit", 21: "moved to the new host" }[day];
	if (comment === undefined) return;
	const body = { key: KEY, environment: "prod", value: `postgres://shop:${day}@db-2.internal/shop`, comment };
	ok(await client.post("/realms/shop/secrets", body, { token: bob?.lasting ?? "" }), 201);
}

/** Makes a picture of a page. @param from the heading that it begins with */
async function shoot(page: Page, address: string, name: string, from?: string): Promise<void> {
	await page.goto(address);
	await page.getByRole("heading", { level: 1 }).waitFor();
	const first = from === undefined ? undefined : await page.getByRole("heading", { name: from }).boundingBox();
	const clip = { x: 0, y: Math.max(0, (first?.y ?? 0) - MARGIN), width: WIDTH, height: HEIGHT };
	const bytes = await page.screenshot({ fullPage: true, clip });
	writeFileSync(join(folder, `${name}.png`), bytes);
	process.stdout.write(`${name}.png ${Math.ceil(bytes.length / 1024)} KiB\n`);
}

mkdirSync(folder, { recursive: true });
const ends = new AsyncDisposableStack();
try {
	const program = "test/harness/shifted-server.ts";
	const server = await startServer({ program, env: { SHIFTED_DAYS: String(DAYS) } });
	ends.defer(() => server.close());
	const client = api(server);
	const ada = await colleague(client, "Ada");
	const all = [ada, await colleague(client, "Bob"), await colleague(client, "Eve")];
	await fill(client, ada, all.slice(1));
	for (let day = 0; day <= DAYS; day++) {
		await live(client, day, all);
		if (day === DAYS) break;
		process.kill(server.pid, "SIGUSR2");
		await sleep(50);
	}
	const browser = await startBrowser();
	ends.defer(() => browser.close());
	const { page, close } = await takeSeat(browser, { width: WIDTH });
	await page.emulateMedia({ reducedMotion: "reduce", colorScheme: "light" });
	await signIn(page, server, ada);
	const shop = `${server.url}/console/realms/shop`;
	await shoot(page, shop, "realm");
	await shoot(page, `${shop}/compare?from=dev&to=prod`, "compare");
	await shoot(page, `${shop}/audit`, "audit");
	await shoot(page, `${shop}/secrets/${encodeURIComponent(KEY)}?env=prod`, "secret", "Reads");
	await close();
} finally {
	await ends.disposeAsync();
}
