import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { certificateFingerprint, createServerCertificate } from "@svc/x509";
import type { Config } from "../config.ts";
import { writeDurably } from "../durable-file.ts";
import { FatalError } from "../errors.ts";
import type { System } from "../system.ts";
import type { TlsFiles } from "./listen.ts";
import { TLS_FILES } from "./tls-files.ts";

/** Lifetime of a self-signed certificate, in days. */
const DAYS = 3650;

/** A certificate, its file, and the fingerprint that people compare. */
export interface ServerTls extends TlsFiles {
	file: string;
	/** SHA-256 of the certificate, upper-case hexadecimal with colons. */
	fingerprint: string;
}

/**
 * Reads the server's certificate and key, or makes a self-signed pair on the first start; undefined when TLS is off.
 * @throws FatalError saying which file is missing or wrong
 * Design: §7
 */
export function loadTls(config: Config, system: System): ServerTls | undefined {
	const files = findTlsFiles(config);
	if (files === undefined) return undefined;
	const [file, keyFile] = files;
	if (config.tls.mode === "self-signed" && !(existsSync(file) && existsSync(keyFile)))
		store(files, makePair(config, system));
	const certificate = read(file, "certificate");
	try {
		return { certificate, private_key: read(keyFile, "key"), file, fingerprint: certificateFingerprint(certificate) };
	} catch (cause) {
		if (cause instanceof FatalError) throw cause;
		throw new FatalError(
			`${file} is not a PEM certificate: put the server's certificate there, or set tls.mode to self-signed`,
			78,
			{ cause },
		);
	}
}

/**
 * Makes the self-signed pair of several servers the same: people compare one fingerprint.
 * @param agree offers a pair as text, and answers the one that all use
 */
export async function agreeOnCertificate(
	config: Config,
	system: System,
	agree: (offered: string) => Promise<string>,
): Promise<void> {
	if (config.tls.mode !== "self-signed") return;
	const files = pathsIn(config);
	const found = files.every((file) => existsSync(file)) ? files.map((file) => read(file, "file")) : undefined;
	const own = JSON.stringify(found ?? makePair(config, system));
	const agreed = await agree(own);
	if (found !== undefined && agreed === own) return;
	store(files, JSON.parse(agreed) as Pair);
}

/** Paths of the certificate and its key, which may not exist yet; undefined when TLS is off. */
export function findTlsFiles({ tls, data_dir }: Config): Pair | undefined {
	if (tls.mode === "off") return undefined;
	if (tls.mode === "files") return [tls.certificate_file ?? "", tls.key_file ?? ""];
	return pathsIn({ data_dir });
}

/** The certificate and its key: their paths, or their PEM. */
type Pair = [certificate: string, key: string];

function pathsIn({ data_dir }: Pick<Config, "data_dir">): Pair {
	return [join(data_dir, TLS_FILES[0]), join(data_dir, TLS_FILES[1])];
}

function makePair(config: Config, system: System): Pair {
	const names = [
		...new Set(["localhost", "127.0.0.1", "::1", hostname(), config.listen.host, ...hostOf(config.base_url)]),
	];
	const { now, randomBytes } = { now: system.now(), randomBytes: system.randomBytes };
	const made = createServerCertificate({ names: names.filter(isNameable), now, days: DAYS, randomBytes });
	return [made.certificate, made.private_key];
}

/** Stores a pair, whole or not at all, the key first: the fingerprint that people compared stays the same after a power cut. */
function store([file, keyFile]: Pair, [certificate, key]: Pair): void {
	writeDurably(keyFile, key);
	writeDurably(file, certificate);
}

function hostOf(base_url: string | undefined): string[] {
	return base_url === undefined ? [] : [new URL(base_url).hostname.replace(/^\[|\]$/g, "")];
}

/** Excludes addresses that stand for "all": they name no host. */
function isNameable(name: string): boolean {
	return name !== "0.0.0.0" && name !== "::" && /^[A-Za-z0-9.:-]+$/.test(name);
}

function read(file: string, what: string): string {
	try {
		return readFileSync(file, "utf8");
	} catch (cause) {
		throw new FatalError(`the TLS ${what} ${file} cannot be read: put it there, or set tls.mode to self-signed`, 78, {
			cause,
		});
	}
}
