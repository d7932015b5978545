import { EXIT } from "../failure.ts";

/** Meaning of each environment variable to the commands. */
export const VARIABLES: Readonly<Record<string, string>> = {
	SVC_ADDRESS: "server, as --address",
	SVC_TOKEN: "token that is used instead of the session of `svc login`",
	SVC_TOKEN_FILE: "file with that token, for containers",
	CREDENTIALS_DIRECTORY: "systemd's: a token is in its file svc-token, by LoadCredential=svc-token:…",
	SVC_MACHINE: "machine, such as shop/deploy, as which to work: a JWT is exchanged for its token",
	SVC_JWT_FILE: "file with that JWT; /var/run/secrets/svc/token by default; else GitHub Actions is asked for one",
	SVC_ID_TOKEN: "that JWT, as GitLab CI sets it by id_tokens",
	SVC_AUDIENCE: "audience of that JWT; by default the server, as in https://vault.example.com:8443",
	SVC_REALM: "realm, as --realm",
	SVC_ENV: "environment of the realm, as --env",
	SVC_CACERT: "certificate of the authority to trust, as --cacert",
	SVC_FINGERPRINT: "certificate to trust, as --fingerprint",
	XDG_CONFIG_HOME: "where the session is kept, in svc/session.json; else ~/.config",
	XDG_STATE_HOME: "where `svc run` keeps secrets, sealed, for --offline, in svc/run; else ~/.local/state",
	NO_COLOR: "no colours, also on a terminal",
	PAGER: "program that shows long lists on a terminal; less by default, none when it is empty",
};

/** Files that the commands read or write on their own. */
export const FILES: Readonly<Record<string, string>> = {
	".svc.toml": 'realm and environment of this folder and those below: realm = "shop" and env = "dev"',
	"~/.config/svc/session.json": "the session, and which certificates are trusted; for you alone to read",
	"~/.local/state/svc/run": "secrets as `svc run` read them last, sealed, for --offline",
};

/** Meaning of each exit code. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
	done: "done",
	failed: "failed",
	usage: "usage: nothing was tried",
	denied: "not logged in, or not allowed",
	notFound: "not found",
	unreachable: "server, or the system behind it, unreachable or in trouble",
	notRun: "of `svc run` and `svc k8s`, which otherwise end with their program's own code: svc itself failed",
	notExecutable: "of `svc run` and `svc k8s`: the program cannot be run",
	noSuchCommand: "of `svc run` and `svc k8s`: the program is not found",
	interrupted: "interrupted",
};

const EXAMPLES = [
	"svc register ada@example.com && svc login ada@example.com",
	"svc realm create shop",
	"svc secret set DATABASE_URL --realm shop --env prod",
	"svc secret get DATABASE_URL --realm shop --env prod",
	"svc run --realm shop --env prod -- ./server --port 8080",
	"svc engine generate keyvalue --realm shop --role readonly --ttl 30m",
];

/** End of the help of `svc` itself, after the list of commands. */
export function epilogue(): string {
	const codes = Object.entries(EXIT_MEANINGS).map(([name, meaning]) => [
		String(EXIT[name as keyof typeof EXIT]),
		meaning,
	]);
	return [
		section("Environment variables:", Object.entries(VARIABLES)),
		section("Files:", Object.entries(FILES)),
		section("Exit codes:", codes as [string, string][]),
		`\nExamples:\n${EXAMPLES.map((example) => `  ${example}`).join("\n")}`,
	].join("\n");
}

function section(title: string, rows: readonly (readonly [name: string, meaning: string])[]): string {
	const width = Math.max(...rows.map(([name]) => name.length));
	return `\n${title}\n${rows.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`).join("\n")}`;
}
