import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds in which a page must reach the state that a test waits for. */
const PATIENCE_MS = 60_000;

/** No window, no sandbox (root has none in a container), any certificate, and no access beyond this machine. */
const FLAGS = [
	...["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"],
	...["--disable-background-networking", "--disable-component-update", "--ignore-certificate-errors"],
	...["--remote-debugging-pipe", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"],
];

/** The installed browser: the one without windows, which takes half the processor time, or the whole one. The script in front of the first would outlive a signal. */
export const CHROMIUM = ["/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium"].find((file) =>
	existsSync(file),
);

/** The whole browser if it is installed: some tests of passkeys fail in the other one. */
export const WHOLE_CHROMIUM = existsSync("/usr/bin/chromium") ? "/usr/bin/chromium" : CHROMIUM;

/** The reason to skip a test with a browser; false when one is installed. */
export const skipWithoutChromium: string | false =
	CHROMIUM === undefined ? "chromium is not installed: apt-get install chromium-headless-shell" : false;

/** One page of a real browser. */
export interface Page {
	/** Evaluates an expression in the page until it is truthy; returns its value. */
	until<T>(expression: string): Promise<T>;
	/** Types into the focused element. */
	type(text: string): Promise<void>;
	/** Address of every request of the page. */
	readonly requested: readonly string[];
	/** Errors that the browser found: of scripts, refusals of the page's policy, answers of 400 and more. */
	readonly complaints: readonly string[];
	/** Ends the browser and removes its folder. */
	close(): Promise<void>;
}

interface Message {
	readonly id?: number;
	readonly method?: string;
	readonly params?: Record<string, never>;
	readonly result?: Record<string, never>;
	readonly error?: { readonly message: string };
}

/** Starts a new browser and opens the address. */
export async function openPage(address: string): Promise<Page> {
	const profile = await mkdtemp(join(tmpdir(), "svc-chromium-"));
	const child = spawn(CHROMIUM ?? "", [...FLAGS, `--user-data-dir=${profile}`], {
		stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
		env: { PATH: "/usr/bin:/bin", HOME: profile, TMPDIR: profile },
	});
	const killWithTest = (): void => void child.kill("SIGKILL");
	process.once("exit", killWithTest);
	const requested: string[] = [];
	const complaints: string[] = [];
	const call = speak(child, ({ method, params }) => {
		const facts = params as unknown as Told;
		if (method === "Network.requestWillBeSent") requested.push(facts.request.url);
		if (method === "Runtime.exceptionThrown") complaints.push(facts.exceptionDetails.text);
		if (method === "Log.entryAdded" && facts.entry.level === "error") complaints.push(facts.entry.text);
	});
	const { targetId } = await call("Target.createTarget", { url: "about:blank" });
	const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
	for (const domain of ["Network", "Runtime", "Log", "Page"]) await call(`${domain}.enable`, {}, sessionId);
	await call("Page.navigate", { url: address }, sessionId);
	return {
		requested,
		complaints,
		type: async (text) => void (await call("Input.insertText", { text }, sessionId)),
		until: (expression) => until(expression, (source) => evaluate(call, source, sessionId)),
		close: async () => {
			const closed = once(child, "close");
			child.kill("SIGKILL");
			await closed;
			process.off("exit", killWithTest);
			await rm(profile, { recursive: true, force: true, maxRetries: 5 });
		},
	};
}

/** The part of the browser's messages that the harness reads. */
interface Told {
	readonly request: { readonly url: string };
	readonly exceptionDetails: { readonly text: string };
	readonly entry: { readonly level: string; readonly text: string };
}

type Send = (method: string, params: object, sessionId?: string) => Promise<Record<string, never>>;

/** Speaks the DevTools protocol over a pair of pipes: JSON, each message followed by a zero byte. */
function speak(child: ChildProcess, onEvent: (event: Message) => void): Send {
	const [toBrowser, fromBrowser] = [child.stdio[3] as Writable, child.stdio[4] as Readable];
	const waiting = new Map<number, PromiseWithResolvers<Record<string, never>>>();
	let rest = "";
	fromBrowser.setEncoding("utf8").on("data", (text: string) => {
		const parts = (rest + text).split("\0");
		rest = parts.pop() ?? "";
		for (const message of parts.map((part) => JSON.parse(part) as Message)) {
			if (message.id === undefined) onEvent(message);
			else if (message.error) waiting.get(message.id)?.reject(new Error(message.error.message));
			else waiting.get(message.id)?.resolve(message.result ?? {});
		}
	});
	child.once("close", () => {
		for (const { reject } of waiting.values()) reject(new Error("the browser has ended"));
	});
	toBrowser.on("error", () => undefined);
	let id = 0;
	return (method, params, sessionId) => {
		const answer = Promise.withResolvers<Record<string, never>>();
		waiting.set(++id, answer);
		toBrowser.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
		return answer.promise;
	};
}

async function evaluate(call: Send, expression: string, sessionId: string | undefined): Promise<unknown> {
	const { result } = await call("Runtime.evaluate", { expression, returnByValue: true }, sessionId);
	return (result as unknown as { value?: unknown } | undefined)?.value;
}

async function until<T>(expression: string, evaluated: (expression: string) => Promise<unknown>): Promise<T> {
	const deadline = Date.now() + PATIENCE_MS;
	while (Date.now() < deadline) {
		const value = await evaluated(expression);
		if (value) return value as T;
		await sleep(100);
	}
	return assert.fail(`the page never came to: ${expression}`);
}
