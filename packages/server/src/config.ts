import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { parse as parseToml } from "smol-toml";
import * as v from "valibot";
import { isForEngines } from "./engines/kinds/variables.ts";
import { FatalError } from "./errors.ts";
import { LOG_LEVELS } from "./log.ts";
import { Redacted } from "./redacted.ts";

const Address = v.pipe(v.string(), v.regex(/^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$/));
const Strings = v.union([
	v.array(v.string()),
	v.pipe(
		v.string(),
		v.transform((text) =>
			text
				.split(",")
				.map((part) => part.trim())
				.filter((part) => part !== ""),
		),
	),
]);
const Flag = v.union([
	v.boolean(),
	v.pipe(
		v.picklist(["true", "false"]),
		v.transform((text) => text === "true"),
	),
]);

/** Tells whether a text is a host, with or without a port, as it appears in an address. */
function isHost(text: string): boolean {
	return /^(\[[0-9a-fA-F:]+\]|[\w.-]+)(:\d{1,5})?$/.test(text);
}

/** Makes the schema of a whole number from `least` to `most`. */
function whole(least: number, most: number) {
	const range = v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
	const written = v.pipe(
		v.string(),
		v.regex(/^(?:0|[1-9]\d{0,14})$/),
		v.transform((text) => Number(text)),
		range,
	);
	return [v.union([range, written]), `a whole number from ${least} to ${most}`] as const;
}

/** Schema of each setting; an absent one keeps its default. The documentation lists them in this order. */
const SETTINGS = {
	data_dir: [v.pipe(v.string(), v.minLength(1)), "a path"],
	database_url: [
		v.pipe(v.string(), v.regex(/^postgres(ql)?:\/\/\S+$/)),
		"an address of PostgreSQL: postgres://USER@HOST:5432/DATABASE",
	],
	database_password_file: [v.string(), "a path"],
	database_bytes: whole(2 ** 20, 2 ** 50),
	listen: [Address, "host:port"],
	drain_seconds: whole(0, 20),
	base_url: [v.pipe(v.string(), v.url(), v.regex(/^https?:\/\/[^?#]+$/i)), "an http or https address without ? and #"],
	"tls.mode": [v.picklist(["self-signed", "files", "off"]), "self-signed, files or off"],
	"tls.certificate_file": [v.string(), "a path"],
	"tls.key_file": [v.string(), "a path"],
	master_key_file: [v.string(), "a path"],
	next_master_key_file: [v.string(), "a path"],
	"registration.mode": [v.picklist(["open", "domain", "admin", "closed"]), "open, domain, admin or closed"],
	"registration.allowed_domains": [Strings, "a list of domains"],
	"auth.second_factor": [v.picklist(["off", "admins", "all"]), "off, admins or all"],
	plugins_dir: [v.string(), "a path"],
	"log.level": [v.picklist(LOG_LEVELS), LOG_LEVELS.join(", ")],
	trusted_proxies: [Strings, "a list of addresses"],
	"secrets.enforce_expiry": [Flag, "true or false"],
	"backup.directory": [v.pipe(v.string(), v.minLength(1)), "a path"],
	"backup.keep": whole(1, 1000),
	"trusts.private_issuers": [
		v.pipe(
			Strings,
			v.check((hosts) => hosts.every(isHost)),
		),
		"a list of hosts, each with or without a port, such as k8s.lan:6443",
	],
	"limits.connections": whole(16, 16_384),
	"limits.realm_bytes": whole(1, 2 ** 40),
	"limits.realms_per_account": whole(1, 1_000_000),
} as const;

type Name = keyof typeof SETTINGS;
type Given = { [N in Name]?: v.InferOutput<(typeof SETTINGS)[N][0]> };

/** The process's settings, complete and frozen. Paths are absolute. Design: §7.1. */
export interface Config {
	data_dir: string;
	/** PostgreSQL, which holds the data in place of SQLite; the address may contain the password. `bytes` is the size that it may have. Design: §14 */
	database: { url: Redacted<string>; password_file: string | undefined; bytes: number | undefined } | undefined;
	listen: { host: string; port: number };
	/** Seconds from SIGTERM in which it still answers, while it says that it is not ready: a load balancer notices first. */
	drain_seconds: number;
	/** Address at which people and identity providers reach us, without a trailing slash; undefined until the port is known. */
	base_url: string | undefined;
	tls: { mode: "self-signed" | "files" | "off"; certificate_file: string | undefined; key_file: string | undefined };
	master_key_file: string | undefined;
	/** File with the next master key, provided before a rotation to it. */
	next_master_key_file: string | undefined;
	/** `SVC_MASTER_KEY`, when it is set. */
	master_key: Redacted<string> | undefined;
	/** systemd's credentials folder. */
	credentials_dir: string | undefined;
	/** `SVC_BOOT_ID`: identifies this boot of the machine, where the unit hides it from the process. */
	boot_id: string | undefined;
	registration: { mode: "open" | "domain" | "admin" | "closed"; allowed_domains: string[] };
	/** Those whose sessions need a second factor: nobody, instance admins, or everybody who signs in with a password. Design: §16 */
	second_factor: "off" | "admins" | "all";
	plugins_dir: string;
	log_level: (typeof LOG_LEVELS)[number];
	trusted_proxies: string[];
	enforce_expiry: boolean;
	/** Folder of the backups, and how many it keeps. */
	backup: { directory: string; keep: number };
	/** Hosts of issuers of JWTs that may have private addresses. Design: §15 */
	trusts: { private_issuers: string[] };
	/** Concurrent connections; bytes per realm and realms per account, unless the instance admin gave the account its own limits. Design: §13. */
	limits: { connections: number; realm_bytes: number; realms_per_account: number };
	/** Variables for engines. */
	engine_environment: Readonly<Record<string, string>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the command line client, of tests, and of Kubernetes for a Service named svc: they share the prefix but are not the server's. */
const FOREIGN =
	/^SVC_(CONFIG|ADDRESS|TOKEN|TOKEN_FILE|MACHINE|JWT_FILE|ID_TOKEN|AUDIENCE|REALM|ENV|CACERT|FINGERPRINT|TEST_.*|PORT|PORT_.*|SERVICE_.*)$/;

/**
 * Reads the settings: the environment overrides `svc.toml`, which overrides the defaults.
 * @param all the process's environment, which nothing else in the server sees
 * @param cwd base folder of relative paths
 * @throws FatalError naming the setting that is unknown or wrong and what it must be
 */
export function readConfig(all: Environment, cwd: string): Config {
	const env = withoutServices(all);
	const given: Given = { ...readFile(env.SVC_CONFIG, cwd), ...readEnvironment(env) };
	const path = (text: string) => resolve(cwd, text);
	const data_dir = path(given.data_dir ?? "data");
	const config: Config = {
		data_dir,
		database: readDatabase(given, path),
		listen: parseListen(given.listen ?? "127.0.0.1:8443"),
		drain_seconds: given.drain_seconds ?? 0,
		base_url: given.base_url?.replace(/\/+$/, ""),
		tls: {
			mode: given["tls.mode"] ?? "self-signed",
			certificate_file: given["tls.certificate_file"] === undefined ? undefined : path(given["tls.certificate_file"]),
			key_file: given["tls.key_file"] === undefined ? undefined : path(given["tls.key_file"]),
		},
		master_key_file: given.master_key_file === undefined ? undefined : path(given.master_key_file),
		next_master_key_file: given.next_master_key_file === undefined ? undefined : path(given.next_master_key_file),
		master_key: env.SVC_MASTER_KEY === undefined ? undefined : new Redacted(env.SVC_MASTER_KEY),
		credentials_dir: env.CREDENTIALS_DIRECTORY,
		boot_id: env.SVC_BOOT_ID,
		second_factor: given["auth.second_factor"] ?? "off",
		registration: {
			mode: given["registration.mode"] ?? "open",
			allowed_domains: (given["registration.allowed_domains"] ?? []).map((domain) => domain.toLowerCase()),
		},
		plugins_dir: path(given.plugins_dir ?? `${data_dir}/plugins.d`),
		log_level: given["log.level"] ?? "info",
		trusted_proxies: given.trusted_proxies ?? [],
		enforce_expiry: given["secrets.enforce_expiry"] ?? false,
		backup: { directory: path(given["backup.directory"] ?? `${data_dir}/backups`), keep: given["backup.keep"] ?? 7 },
		trusts: { private_issuers: (given["trusts.private_issuers"] ?? []).map((host) => host.toLowerCase()) },
		limits: {
			connections: given["limits.connections"] ?? 2048,
			realm_bytes: given["limits.realm_bytes"] ?? 64 * 1024 * 1024,
			realms_per_account: given["limits.realms_per_account"] ?? 250,
		},
		engine_environment: readEngineEnvironment(env),
	};
	refuseContradictions(config);
	return Object.freeze(config);
}

/**
 * Leaves out what Kubernetes sets in each pod for a Service named `svc-…`: where `X_SERVICE_HOST` is there, all of `X_SERVICE_…` and `X_PORT…`. No
 * setting has such a name. Design: §15
 */
function withoutServices(env: Environment): Environment {
	const services = Object.keys(env).flatMap((name) => /^(SVC_.+)_SERVICE_HOST$/.exec(name)?.[1] ?? []);
	const starts = services.flatMap((service) => [`${service}_SERVICE_`, `${service}_PORT_`]);
	const isOfService = (name: string) => starts.some((start) => `${name}_`.startsWith(start));
	return Object.fromEntries(Object.entries(env).filter(([name]) => !isOfService(name)));
}

function readDatabase(
	{ database_url: url, database_password_file: file, database_bytes: bytes }: Given,
	path: (text: string) => string,
): Config["database"] {
	if (url !== undefined)
		return { url: new Redacted(url), password_file: file === undefined ? undefined : path(file), bytes };
	const orphan = file === undefined ? "database_bytes" : "database_password_file";
	if (file !== undefined || bytes !== undefined) throw new FatalError(`${orphan} needs database_url`);
	return undefined;
}

function readEngineEnvironment(env: Environment): Record<string, string> {
	const entries = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
	return Object.freeze(Object.fromEntries(entries.filter(([name]) => isForEngines(name))));
}

function refuseContradictions(config: Config): void {
	if (config.tls.mode === "files" && !(config.tls.certificate_file && config.tls.key_file)) {
		throw new FatalError("tls.mode files needs tls.certificate_file and tls.key_file");
	}
	if (config.tls.mode === "off" && !isLoopback(config.listen.host) && config.trusted_proxies.length === 0) {
		throw new FatalError(
			"tls.mode off is only for loopback or behind a proxy: listen on 127.0.0.1, or add the proxy to trusted_proxies",
		);
	}
	if (config.registration.mode === "domain" && config.registration.allowed_domains.length === 0) {
		throw new FatalError("registration.mode domain needs registration.allowed_domains");
	}
	for (const proxy of config.trusted_proxies) {
		if (isIP(proxy) === 0) throw new FatalError("trusted_proxies must be a list of IP addresses");
	}
}

/** Tells whether an address or host name stays on this machine. */
export function isLoopback(host: string): boolean {
	return host === "localhost" || host === "::1" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
}

function parseListen(text: string): Config["listen"] {
	const at = text.lastIndexOf(":");
	const port = Number(text.slice(at + 1));
	if (port > 65_535) throw new FatalError("listen (SVC_LISTEN): the port must be at most 65535");
	return { host: text.slice(0, at).replace(/^\[|\]$/g, ""), port };
}

function readFile(named: string | undefined, cwd: string): Given {
	const file = resolve(cwd, named ?? "svc.toml");
	if (named === undefined && !existsSync(file)) return {};
	let document: Record<string, unknown>;
	try {
		document = parseToml(readFileSync(file, "utf8"));
	} catch (cause) {
		const { code } = cause as NodeJS.ErrnoException;
		if (cause instanceof Error && "syscall" in cause)
			throw new FatalError(`${file} cannot be read (${code}): check SVC_CONFIG and the file's permissions`, 78, {
				cause,
			});
		throw new FatalError(`${file} is not valid TOML: correct it, or remove it to start with the defaults`, 78, {
			cause,
		});
	}
	const flat: Record<string, unknown> = {};
	for (const [key, value] of Object.entries(document)) {
		const isTable = typeof value === "object" && !Array.isArray(value) && !(value instanceof Date);
		const isKnownTable = Object.keys(SETTINGS).some((name) => name.startsWith(`${key}.`));
		if (!(isTable && isKnownTable)) flat[key] = value;
		else for (const [inner, leaf] of Object.entries(value as object)) flat[`${key}.${inner}`] = leaf;
	}
	return check(flat, (name) => `${name} in ${file}`);
}

/** Variables that have no counterpart in the file. */
const VARIABLES_ONLY = new Set(["SVC_MASTER_KEY", "SVC_BOOT_ID"]);

function readEnvironment(env: Environment): Given {
	const variables = new Map(Object.keys(SETTINGS).map((name) => [`SVC_${name.replace(".", "_").toUpperCase()}`, name]));
	const flat: Record<string, unknown> = {};
	for (const [variable, value] of Object.entries(env)) {
		if (
			!variable.startsWith("SVC_") ||
			VARIABLES_ONLY.has(variable) ||
			FOREIGN.test(variable) ||
			isForEngines(variable)
		)
			continue;
		flat[variables.get(variable) ?? variable] = value;
	}
	return check(flat, (name) => (name.startsWith("SVC_") ? name : `SVC_${name.replace(".", "_").toUpperCase()}`));
}

function check(flat: Record<string, unknown>, label: (name: string) => string): Given {
	const known: Record<string, unknown> = {};
	for (const [name, value] of Object.entries(flat)) {
		const setting = SETTINGS[name as Name];
		if (!Object.hasOwn(SETTINGS, name))
			throw new FatalError(`${label(name)} is not a setting: the settings are ${Object.keys(SETTINGS).join(", ")}`);
		const result = v.safeParse(setting[0], value);
		if (!result.success) throw new FatalError(`${label(name)} must be ${setting[1]}`);
		known[name] = result.output;
	}
	return known;
}
