/* Shared parts of the tests: OpenSSL as the judge, a folder for its files, and an authority made by the code under test. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	type Authority,
	type CertificateRequest,
	createAuthority,
	type IssuedCertificate,
	issueCertificate,
	type KeptAuthority,
	loadAuthority,
} from "../src/index.ts";

/** The start of the test process. OpenSSL reads the real clock, so the tests' certificates are made around this instant. */
export const NOW = new Date(performance.timeOrigin);
/** One hour later: by then, certificates that OpenSSL makes during the tests are valid too. */
export const LATER = new Date(NOW.getTime() + 3_600_000);

const folder = mkdtempSync(join(tmpdir(), "svc-x509-"));
process.once("exit", () => rmSync(folder, { recursive: true }));
const isMissing = spawnSync("openssl", ["version"]).error !== undefined;

/** For a test's `skip` option. */
export const withoutOpenssl = isMissing ? "openssl is not installed: apt-get install openssl" : false;

/** Writes a file for OpenSSL and returns its path. */
export function file(name: string, text: string): string {
	const path = join(folder, name);
	writeFileSync(path, text);
	return path;
}

/** Runs OpenSSL; returns its exit status and everything it wrote. */
export function openssl(...args: readonly string[]): { status: number | null; text: string } {
	const { status, stdout, stderr } = spawnSync("openssl", args, { encoding: "utf8", timeout: 10_000 });
	return { status, text: stdout + stderr };
}

/** Makes an authority; all of the tests' authorities have the same name. */
export async function makeAuthority(): Promise<{ kept: KeptAuthority; authority: Authority }> {
	const kept = await createAuthority({ common_name: "Test CA", organization: "Acme", now: NOW, randomBytes });
	return { kept, authority: loadAuthority(kept) };
}

/** Issues a certificate for a server for one day, unless `changes` says otherwise. */
export function issue(authority: Authority, changes: Partial<CertificateRequest> = {}): IssuedCertificate {
	return issueCertificate(authority, {
		common_name: "app.example.com",
		organization: "Acme",
		san: ["app.example.com"],
		extended_key_usage: ["server"],
		not_before: NOW,
		not_after: new Date(NOW.getTime() + 86_400_000),
		randomBytes,
		...changes,
	});
}

/** Lets OpenSSL make an authority, with `extensions` in addition to its own, in the format of its configuration files. */
export function opensslAuthority(curve: string, ...extensions: string[]): KeptAuthority {
	const private_key = openssl("ecparam", "-name", curve, "-genkey").text;
	const options = extensions.flatMap((extension) => ["-addext", extension]);
	const key = file("authority.key", private_key);
	const { text } = openssl("req", "-x509", "-new", "-key", key, "-subj", "/CN=Mine", "-days", "2", ...options);
	return { certificate: text.slice(text.indexOf("-----BEGIN")), private_key };
}

/** Lets OpenSSL issue a certificate for a new key, with `extensions` in the format of its configuration files. */
export function opensslIssue(
	signer: KeptAuthority,
	name: string,
	extensions: string,
	...options: string[]
): KeptAuthority {
	const key = file(`${name}.key`, openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout").text);
	const request = file(`${name}.csr`, openssl("req", "-new", "-key", key, "-subj", `/CN=${name}`).text);
	const signerFiles = ["-CA", file("signer.pem", signer.certificate), "-CAkey", file("signer.key", signer.private_key)];
	const extensionFile = file("extensions.cnf", extensions);
	const { status, text } = openssl(
		...["x509", "-req", "-in", request, "-days", "2", "-extfile", extensionFile, ...signerFiles, ...options],
	);
	if (status !== 0) {
		throw new Error(text);
	}
	return { certificate: text.slice(text.indexOf("-----BEGIN")), private_key: openssl("ec", "-in", key).text };
}
