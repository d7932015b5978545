import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { dirname, relative } from "node:path";
import { type Config, isLoopback } from "../config.ts";
import type { System } from "../system.ts";
import { type Check, ok } from "./model.ts";

/** Dependencies of examining settings. */
export interface SettingNeeds {
	config: Pick<Config, "data_dir" | "tls" | "base_url" | "listen" | "registration">;
	/** Files of certificate and key; undefined when TLS is off. */
	tls_files: readonly [certificate: string, key: string] | undefined;
	master: { origin: "credential" | "file" | "environment"; file: string | undefined };
	system: Pick<System, "now">;
	/** Address at which the server says that people reach it. */
	address(): string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Days before the end of a certificate from which it is reported. */
const RENEWAL_DAYS = 30;

/** Checks that the certificate on disk is valid today and for the name that people use, and that others cannot read its key. */
export function checkCertificate({ config, tls_files, system }: SettingNeeds): Check[] {
	const name = "certificate";
	if (tls_files === undefined) return [ok(name, "TLS is off: only a proxy or this machine can reach the server")];
	const [certificate_file, key_file] = tls_files;
	const certificate = new X509Certificate(readFileSync(certificate_file));
	const isOwn = config.tls.mode === "self-signed";
	const renewal = isOwn
		? "remove tls.crt and tls.key in the data directory and restart; clients must then compare the new fingerprint"
		: "replace it with a renewed one, then send the server SIGHUP";
	const days = (certificate.validToDate.getTime() - system.now().getTime()) / DAY_MS;
	const end = certificate.validToDate.toISOString().slice(0, 10);
	const checks: Check[] = [];
	if (days < 0 || certificate.validFromDate > system.now())
		checks.push({
			name,
			status: "failed",
			message: `the certificate is not valid today: its validity ends on ${end}`,
			hint: renewal,
		});
	else if (days < RENEWAL_DAYS)
		checks.push({ name, status: "warning", message: `the certificate expires on ${end}`, hint: renewal });
	if (config.base_url !== undefined && !isFor(certificate, new URL(config.base_url).hostname))
		checks.push({
			name,
			status: "warning",
			message: "the certificate does not cover the name in base_url",
			hint: renewal,
		});
	if ((statSync(key_file).mode & 0o077) !== 0)
		checks.push({
			name,
			status: "failed",
			message: "other users can read the certificate's key",
			hint: `run chmod 600 ${key_file}, then renew the certificate with a new key`,
		});
	return checks.length > 0 ? checks : [ok(name, `the certificate is valid until ${end}`)];
}

function isFor(certificate: X509Certificate, hostname: string): boolean {
	const host = hostname.replace(/^\[|\]$/g, "");
	return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

/** Checks that the master key is out of reach of a thief of the data. */
export function checkMasterKey({ config, master }: SettingNeeds): Check[] {
	const name = "master_key";
	const hint = "provide it as a systemd credential, or set master_key_file to a file elsewhere";
	const { origin, file } = master;
	if (origin === "environment")
		return [
			{
				name,
				status: "warning",
				message: "it comes from SVC_MASTER_KEY, which every process of this user can read",
				hint,
			},
		];
	if (file !== undefined && !relative(config.data_dir, dirname(file)).startsWith(".."))
		return [
			{
				name,
				status: "warning",
				message: "it is stored with the data: a copy of the folder reveals everything",
				hint,
			},
		];
	return [ok(name, origin === "credential" ? "it is a systemd credential" : "it is stored apart from the data")];
}

/** Checks whether strangers can make accounts. */
export function checkRegistration({ config }: SettingNeeds): Check[] {
	const { mode } = config.registration;
	const name = "registration";
	if (mode !== "open" || isLoopback(config.listen.host)) return [ok(name, `its mode is ${mode}`)];
	const hint = "set registration.mode to admin, domain or closed (SVC_REGISTRATION_MODE)";
	return [{ name, status: "warning", message: "anybody who can reach the server can register", hint }];
}

/** Checks that base_url is set where others reach the server: links lead there, and the console answers at no other address. */
export function checkBaseUrl({ config, address }: Pick<SettingNeeds, "config" | "address">): Check[] {
	const name = "base_url";
	if (config.base_url !== undefined) return [ok(name, `people are sent to ${config.base_url}`)];
	const message = `it is not set: people are sent to ${address()}, and the console answers only there`;
	if (isLoopback(config.listen.host)) return [ok(name, message)];
	const hint = "set base_url (SVC_BASE_URL) to the address that people use; passkeys need a host name in it";
	return [{ name, status: "warning", message, hint }];
}
