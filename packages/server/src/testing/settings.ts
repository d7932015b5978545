import type { Config } from "../config.ts";

/** Variables of a process. */
type Environment = Record<string, string | undefined>;

/** A setting: what the file and the environment say, and what comes of each; `C` stands for the folder paths start from. */
export interface Setting {
	name: string;
	variable: string;
	file: string;
	fromFile: unknown;
	text: string;
	fromText: unknown;
	read(config: Config): unknown;
	unset: unknown;
	/** What else has to be said so that the setting makes sense. */
	beside?: Environment;
}

/** Every setting, in the order of the documentation. */
export const SETTINGS: Setting[] = [
	{
		name: "data_dir",
		variable: "SVC_DATA_DIR",
		file: '"d"',
		fromFile: "C/d",
		text: "/e",
		fromText: "/e",
		read: (c) => c.data_dir,
		unset: "C/data",
	},
	{
		name: "listen",
		variable: "SVC_LISTEN",
		file: '"0.0.0.0:1"',
		fromFile: { host: "0.0.0.0", port: 1 },
		text: "[::1]:65535",
		fromText: { host: "::1", port: 65_535 },
		read: (c) => c.listen,
		unset: { host: "127.0.0.1", port: 8443 },
	},
	{
		name: "base_url",
		variable: "SVC_BASE_URL",
		file: '"https://svc.example.com/"',
		fromFile: "https://svc.example.com",
		text: "https://svc.example.com:8443/svc//",
		fromText: "https://svc.example.com:8443/svc",
		read: (c) => c.base_url,
		unset: undefined,
	},
	{
		name: "tls.mode",
		variable: "SVC_TLS_MODE",
		file: '"files"',
		fromFile: "files",
		text: "off",
		fromText: "off",
		read: (c) => c.tls.mode,
		unset: "self-signed",
		beside: { SVC_TLS_CERTIFICATE_FILE: "c", SVC_TLS_KEY_FILE: "k" },
	},
	{
		name: "tls.certificate_file",
		variable: "SVC_TLS_CERTIFICATE_FILE",
		file: '"c"',
		fromFile: "C/c",
		text: "/c",
		fromText: "/c",
		read: (c) => c.tls.certificate_file,
		unset: undefined,
	},
	{
		name: "tls.key_file",
		variable: "SVC_TLS_KEY_FILE",
		file: '"k"',
		fromFile: "C/k",
		text: "../k",
		fromText: "P/k",
		read: (c) => c.tls.key_file,
		unset: undefined,
	},
	{
		name: "master_key_file",
		variable: "SVC_MASTER_KEY_FILE",
		file: '"m"',
		fromFile: "C/m",
		text: "/m",
		fromText: "/m",
		read: (c) => c.master_key_file,
		unset: undefined,
	},
	{
		name: "next_master_key_file",
		variable: "SVC_NEXT_MASTER_KEY_FILE",
		file: '"n"',
		fromFile: "C/n",
		text: "/n",
		fromText: "/n",
		read: (c) => c.next_master_key_file,
		unset: undefined,
	},
	{
		name: "registration.mode",
		variable: "SVC_REGISTRATION_MODE",
		file: '"admin"',
		fromFile: "admin",
		text: "closed",
		fromText: "closed",
		read: (c) => c.registration.mode,
		unset: "open",
	},
	{
		name: "registration.allowed_domains",
		variable: "SVC_REGISTRATION_ALLOWED_DOMAINS",
		file: '["Example.COM"]',
		fromFile: ["example.com"],
		text: " a.example , ,B.example,",
		fromText: ["a.example", "b.example"],
		read: (c) => c.registration.allowed_domains,
		unset: [],
	},
	{
		name: "plugins_dir",
		variable: "SVC_PLUGINS_DIR",
		file: '"p"',
		fromFile: "C/p",
		text: "/p",
		fromText: "/p",
		read: (c) => c.plugins_dir,
		unset: "C/data/plugins.d",
	},
	{
		name: "log.level",
		variable: "SVC_LOG_LEVEL",
		file: '"debug"',
		fromFile: "debug",
		text: "error",
		fromText: "error",
		read: (c) => c.log_level,
		unset: "info",
	},
	{
		name: "trusted_proxies",
		variable: "SVC_TRUSTED_PROXIES",
		file: '["10.0.0.1", "::1"]',
		fromFile: ["10.0.0.1", "::1"],
		text: "10.0.0.1, 10.0.0.2",
		fromText: ["10.0.0.1", "10.0.0.2"],
		read: (c) => c.trusted_proxies,
		unset: [],
	},
	{
		name: "secrets.enforce_expiry",
		variable: "SVC_SECRETS_ENFORCE_EXPIRY",
		file: "true",
		fromFile: true,
		text: "false",
		fromText: false,
		read: (c) => c.enforce_expiry,
		unset: false,
	},
	{
		name: "backup.directory",
		variable: "SVC_BACKUP_DIRECTORY",
		file: '"b"',
		fromFile: "C/b",
		text: "/b",
		fromText: "/b",
		read: (c) => c.backup.directory,
		unset: "C/data/backups",
	},
	{
		name: "backup.keep",
		variable: "SVC_BACKUP_KEEP",
		file: "30",
		fromFile: 30,
		text: "1",
		fromText: 1,
		read: (c) => c.backup.keep,
		unset: 7,
	},
	{
		name: "limits.realm_bytes",
		variable: "SVC_LIMITS_REALM_BYTES",
		file: "1099511627776",
		fromFile: 2 ** 40,
		text: "1",
		fromText: 1,
		read: (c) => c.limits.realm_bytes,
		unset: 64 * 1024 * 1024,
	},
	{
		name: "limits.realms_per_account",
		variable: "SVC_LIMITS_REALMS_PER_ACCOUNT",
		file: "1000000",
		fromFile: 1_000_000,
		text: "1",
		fromText: 1,
		read: (c) => c.limits.realms_per_account,
		unset: 250,
	},
];
