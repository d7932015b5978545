import { X509Certificate } from "node:crypto";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { isLoopback } from "../client/address.ts";
import { type Answer, isAnswer, optional } from "../client/answer.ts";
import { fetchCertificate } from "../client/certificate.ts";
import type { Target } from "../client/connection.ts";
import { sessionFile } from "../client/session.ts";
import { type Io, setting } from "../io/io.ts";

/** One check, in the form that the server uses, too. */
export interface Check {
	readonly name: string;
	readonly status: string;
	readonly message: string;
	/** Empty when there is nothing to do. */
	readonly hint: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const RENEWAL_DAYS = 30;
/** Seconds by which clocks may differ: the header has whole seconds, and the answer takes a while. */
const CLOSE_SECONDS = 5;
const FAR_SECONDS = 60;

/** Checks that the connection is encrypted, how the server's certificate is trusted, and when it expires. */
export async function checkConnection({ address, saved }: Target): Promise<Check[]> {
	const name = "connection";
	const url = new URL(address);
	if (url.protocol === "http:") {
		const hint = "give the server a certificate, or reach it through a proxy that has one";
		if (isLoopback(url))
			return [{ name, status: "ok", message: "without TLS, and it stays on this machine", hint: "" }];
		return [{ name, status: "failed", message: "everything is sent in the clear", hint }];
	}
	const presented = await fetchCertificate(url);
	const end = new X509Certificate(presented.certificate).validToDate;
	const trusted =
		presented.doubt === undefined
			? "by an authority that this machine knows"
			: saved.trust?.kind === "pinned"
				? "because its fingerprint was compared"
				: "by --cacert or --fingerprint";
	const message = `the certificate is trusted ${trusted}, and valid until ${end.toISOString().slice(0, 10)}`;
	if (end.getTime() - Date.now() > RENEWAL_DAYS * DAY_MS) return [{ name, status: "ok", message, hint: "" }];
	const hint = "have it renewed before then; everybody who compared its fingerprint has to do so again";
	return [{ name, status: end.getTime() < Date.now() ? "failed" : "warning", message, hint }];
}

/** Compares the clocks. @param date the header of an answer that arrived just now @param now_ms the time here */
export function checkClock(date: string | undefined, now_ms: number): Check {
	const name = "client clock";
	const seconds = Math.round((now_ms - Date.parse(date ?? "")) / 1000);
	if (Number.isNaN(seconds)) return { name, status: "warning", message: "the server sends no date", hint: "" };
	if (Math.abs(seconds) <= CLOSE_SECONDS)
		return { name, status: "ok", message: "this machine and the server agree on the time", hint: "" };
	const message = `this machine is ${Math.abs(seconds)} seconds ${seconds > 0 ? "ahead of" : "behind"} the server`;
	const hint = "check both clocks: `timedatectl`";
	return { name, status: Math.abs(seconds) > FAR_SECONDS ? "failed" : "warning", message, hint };
}

/** Compares the versions of client and server. */
export function checkVersion(server: string): Check {
	const name = "client version";
	if (server === manifest.version) return { name, status: "ok", message: `both sides are ${server}`, hint: "" };
	const message = `the server is ${server}, this client ${manifest.version}`;
	return { name, status: "warning", message, hint: "use the svc of the server's version" };
}

/** Reports a server without a database to use, which answers nothing but its health. @param health its answer */
export function checkStore(health: Answer): Check[] {
	const store = health.store;
	if (!isAnswer(store) || store.status !== "away") return [];
	const message = optional(store, "message") || "the server does not reach its database";
	const hint = optional(store, "hint") || "see the server's log, which says what to do";
	return [{ name: "database", status: "failed", message: `${message}, since ${optional(store, "since")}`, hint }];
}

/** Checks whether others may replace the session file; every command already refuses one that they may read. */
export async function checkSessionFile(io: Io): Promise<Check[]> {
	const name = "session file";
	if (!setting(io, "HOME") && !setting(io, "XDG_CONFIG_HOME")) return [];
	const folder = dirname(sessionFile(io));
	const mode = (await stat(folder).catch(() => undefined))?.mode;
	if (mode === undefined) return [{ name, status: "ok", message: "there is none", hint: "" }];
	if ((mode & 0o022) === 0)
		return [{ name, status: "ok", message: "it is in a folder that nobody else may write", hint: "" }];
	const message = "it is in a folder that others may write: they can have this client trust another server";
	return [{ name, status: "failed", message, hint: `chmod 700 ${folder}` }];
}
