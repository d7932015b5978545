import assert from "node:assert/strict";
import { ask, cookiesOf, ours, type PageAnswer, tokenOf } from "../harness/console.ts";
import { eventually } from "../harness/engine-world.ts";
import type { Server } from "../harness.ts";
import type { Begun } from "./oidc-world.ts";

/** Options of a server whose clock begins ten minutes ago: a session is old once they have passed. */
export const LATE = { program: "test/harness/shifted-server.ts", env: { SHIFTED_MINUTES: "10" } };

/** A page that asks again before it does something. */
export const TARGET = "/console/account/token";

const SITE = { "sec-fetch-site": "same-origin" };

/** A session of the console. */
export interface Seat {
	readonly cookie: string;
	readonly form_token: string;
}

/** The console, as browsers ask it that sign in at a provider, and sign in there again. */
export interface Desk {
	beginSignIn(type: "oidc" | "saml", name: string): Promise<Begun>;
	/** @param way the path to which the provider's answer led */
	endSignIn(way: string, begun: Begun): Promise<Seat>;
	/** Tells whether the session is asked again before it makes a token. */
	isAsked(seat: Seat): Promise<boolean>;
	/** Lets ten minutes pass: the provider's clock and the server's agree then. @param seat of a session that becomes old */
	passTime(seat: Seat): Promise<void>;
	/** Sends the form of the page that asks again. */
	confirm(seat: Seat, form: Record<string, string>, headers?: Record<string, string>): Promise<PageAnswer>;
	/** Sends it for a provider in the browser. */
	begin(seat: Seat, provider: string, target?: string): Promise<Begun>;
	/** Follows the way to which the provider's answer led. */
	arrive(seat: Seat, way: string): Promise<PageAnswer>;
	/** Fails unless the answer is a refusal with this status, and the session is still asked. */
	isRefused(what: string, seat: Seat, answer: PageAnswer, status: number): Promise<void>;
}

/** Makes the console of a server. */
export function deskOf(server: Server): Desk {
	const desk: Desk = {
		async beginSignIn(type, name) {
			const answer = await ask(server, "GET", `/console/sign-in/${type}/${name}`, SITE);
			assert.equal(answer.status, 303, answer.text);
			return { location: String(answer.headers.location), cookie: cookiesOf(answer) };
		},
		async endSignIn(way, { cookie }) {
			const answer = await ask(server, "GET", way, { ...SITE, cookie });
			assert.equal(answer.status, 303, answer.text);
			return seatOf(server, answer);
		},
		async isAsked({ cookie, form_token }) {
			const answer = await ask(server, "POST", TARGET, { ...ours(server), cookie }, { form_token, name: "" });
			const isAsked = answer.status === 303 && /^\/console\/confirm\?/.test(String(answer.headers.location));
			assert.ok(isAsked || answer.status === 400, answer.text);
			return isAsked;
		},
		async passTime(seat) {
			process.kill(server.pid, "SIGUSR2");
			await eventually("the session is old", () => desk.isAsked(seat));
		},
		confirm: ({ cookie, form_token }, form, headers = ours(server)) =>
			ask(server, "POST", "/console/confirm", { ...headers, cookie }, { form_token, ...form }),
		async begin(seat, provider, target = TARGET) {
			const answer = await desk.confirm(seat, { provider, target });
			assert.equal(answer.status, 200, answer.text);
			const [, location = ""] = /^0;url=(.*)$/.exec(String(answer.headers.refresh)) ?? [];
			return { location, cookie: cookiesOf(answer) };
		},
		arrive: ({ cookie }, way) => ask(server, "GET", way, { ...SITE, cookie }),
		async isRefused(what, seat, answer, status) {
			assert.deepEqual([answer.status, answer.headers.location], [status, undefined], what);
			assert.ok(await desk.isAsked(seat), `${what}: nothing is confirmed`);
		},
	};
	return desk;
}

/** Takes the session that an answer of the console begins. */
export async function seatOf(server: Server, answer: PageAnswer): Promise<Seat> {
	const cookie = cookiesOf(answer).split("; ")[0] ?? "";
	return { cookie, form_token: await tokenOf(server, { cookie }) };
}
