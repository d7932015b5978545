import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, CDPSession, Request } from "playwright-core";
import { type Server, startServer } from "../harness.ts";
import { freePort } from "../peers/free-port.ts";
import { type Seat, signIn, startBrowser, takeSeat } from "./browser.ts";
import { skipWithoutChromium } from "./chromium.ts";
import { type Api, api } from "./client.ts";
import { type Person, person } from "./fixtures.ts";

/** A passkey in Chromium's virtual authenticator, with its private key. */
interface Credential {
	readonly credentialId: string;
	readonly signCount: number;
	readonly privateKey: string;
}

/** Server and browser that the tests of a file share. */
interface PasskeyWorld {
	readonly server: Server;
	readonly client: Api;
	/** The instance admin. */
	readonly root: Person;
	readonly browser: Browser;
}

/** Somebody's browser with an authenticator that asks nobody. */
export interface PasskeySeat extends Seat, PasskeyWorld {
	readonly who: Person;
	/** Lets the authenticator verify its holder, or not. */
	setVerified(isUserVerified: boolean): Promise<void>;
	credentials(): Promise<Credential[]>;
	/** Puts a passkey in place of the one with the same id. */
	replace(credential: Credential): Promise<void>;
}

/** Starts a server on a port that it keeps. It is reached at localhost, where browsers allow passkeys under any certificate. */
export async function startPasskeyServer(): Promise<Server> {
	return startServer({ env: { SVC_LISTEN: `127.0.0.1:${await freePort()}` } });
}

/** Signs somebody new in to the console, in a browser with an authenticator. */
export async function takePasskeySeat(world: PasskeyWorld, name: string): Promise<PasskeySeat> {
	const who = await person(world.client, name);
	const seat = await takeSeat(world.browser);
	const cdp = await seat.context.newCDPSession(seat.page);
	const authenticator = await addAuthenticator(cdp);
	await signIn(seat.page, world.server, who);
	return { ...world, ...seat, who, ...authenticator };
}

async function addAuthenticator(cdp: CDPSession) {
	await cdp.send("WebAuthn.enable");
	const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
		options: {
			protocol: "ctap2",
			transport: "internal",
			hasResidentKey: true,
			hasUserVerification: true,
			isUserVerified: true,
			automaticPresenceSimulation: true,
		},
	});
	return {
		setVerified: async (isUserVerified: boolean) => {
			await cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
		},
		credentials: async () => (await cdp.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
		replace: async (credential: Credential) => {
			await cdp.send("WebAuthn.removeCredential", { authenticatorId, credentialId: credential.credentialId });
			await cdp.send("WebAuthn.addCredential", { authenticatorId, credential: credential as never });
		},
	};
}

/** Starts a server and a browser for a file. @returns a function that tests with somebody who sits at a browser with an authenticator */
export function startPasskeys() {
	let world: PasskeyWorld;
	const ends = new AsyncDisposableStack();
	before(async () => {
		if (skipWithoutChromium !== false) return;
		const server = await startPasskeyServer();
		ends.defer(() => server.close());
		const client = api(server);
		const root = await person(client, "root");
		const browser = await startBrowser({ isWhole: true });
		ends.defer(() => browser.close());
		world = { server, client, root, browser };
	});
	after(() => ends.disposeAsync());
	return {
		world: () => world,
		at(what: string, run: (seat: PasskeySeat) => Promise<void>): void {
			test(what, { skip: skipWithoutChromium }, async () => {
				const seat = await takePasskeySeat(world, "ada");
				await run(seat);
				await seat.close();
			});
		},
	};
}

/** Begins a passkey on the page of the account: the browser can make it then. */
export async function beginPasskey({ server, page, who }: PasskeySeat): Promise<void> {
	await page.goto(`${server.url}/console/account/factors`);
	const form = page.locator("form").filter({ has: page.getByLabel("Name of the passkey") });
	await form.getByLabel("Name of the passkey").fill("laptop");
	await form.getByLabel("Password of your account").fill(who.password);
	await form.getByRole("button", { name: "Go on" }).click();
	await page.getByRole("status").getByText("Now let the browser make the passkey.").waitFor();
}

/** Makes a passkey. @returns the recovery codes that it came with */
export async function makePasskey(seat: PasskeySeat): Promise<string[]> {
	const { page } = seat;
	await beginPasskey(seat);
	await page.getByRole("button", { name: "Make the passkey now" }).click();
	await page.getByRole("status").getByText("The passkey signs in from now on").waitFor();
	return String(await page.locator("[data-value]").textContent())
		.trim()
		.split("\n");
}

/** Presses the button of the sign-in page for passkeys. */
export async function usePasskey({ server, page }: Pick<PasskeySeat, "server" | "page">): Promise<void> {
	await page.goto(`${server.url}/console/sign-in/passkey`);
	await page.getByRole("button", { name: "Use a passkey" }).click();
}

/** Ends the session of the page. */
export const signOut = ({ page }: Pick<Seat, "page">) => page.getByRole("button", { name: "Sign out" }).click();

/** Waits until the page has a session. */
export const isIn = ({ page }: Pick<Seat, "page">) => page.getByRole("button", { name: "Sign out" }).waitFor();

/** Waits until the page shows a refusal. */
export const isRefused = ({ page }: Pick<Seat, "page">, text: string) =>
	page.getByRole("alert").getByText(text).waitFor();

/** A form as the browser would have sent it, with its cookies. */
export interface HeldForm {
	readonly path: string;
	readonly cookie: string;
	readonly form: Record<string, string>;
	/** JSON that the browser wrote of the passkey's answer. */
	readonly answer: string;
}

/** Holds the next form that the page posts: the server never gets it. */
export async function holdForm({ page }: Pick<Seat, "page">, press: () => Promise<void>): Promise<HeldForm> {
	const held = Promise.withResolvers<Request>();
	await page.route("**/console/**", async (route) => {
		if (route.request().method() !== "POST") return route.continue();
		held.resolve(route.request());
		return route.abort();
	});
	await press();
	const request = await held.promise;
	await page.unroute("**/console/**");
	return readForm(request);
}

async function readForm(request: Request): Promise<HeldForm> {
	const { cookie = "" } = await request.allHeaders();
	const form = Object.fromEntries(new URLSearchParams(request.postData() ?? ""));
	const { passkey: answer = "" } = form;
	assert.notEqual(answer, "", "the browser has answered");
	return { path: new URL(request.url()).pathname, cookie, form, answer };
}
