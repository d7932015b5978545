import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { createIdentity } from "./identity.ts";

const START_TIMEOUT_MS = 120_000;
/** Debian puts it on administrators' search path only. */
const SLAPD = "/usr/sbin/slapd";
const SCHEMAS = "/etc/ldap/schema";

/** `false` where OpenLDAP's server is installed, else the reason to skip the test. */
export const skipWithoutSlapd: string | false = existsSync(SLAPD)
	? false
	: "slapd is not installed: apt-get install slapd ldap-utils";

/** Options of a test's directory. */
export interface SlapdOptions {
	/** LDIF of entries in addition to the usual ones. */
	readonly entries?: string;
	/** Tells whether anybody may search without a password. */
	readonly anonymous?: boolean;
	/** Tells whether it has a certificate. */
	readonly tls?: boolean;
}

/** A real OpenLDAP on loopback, unprivileged, with its files in a temporary folder. */
export interface Slapd {
	/** Address of plain LDAP and StartTLS, with 127.0.0.1. */
	readonly ldap_url: string;
	readonly ldaps_url: string;
	readonly ldap_port: number;
	readonly ldaps_port: number;
	/** PEM of the authority that signed its certificate, which is for 127.0.0.1, ::1 and localhost. */
	readonly ca: string;
	/** Account that may only search. */
	readonly bind_dn: string;
	readonly bind_password: string;
	/** Pauses the process: connections are accepted, but nothing is answered. */
	pause(): void;
	resume(): void;
	stop(): Promise<void>;
}

/** Containers of people and of their groups. */
export const PEOPLE = "ou=people,dc=test";
export const GROUPS = "ou=groups,dc=test";

/** Returns a member of `PEOPLE`, as LDIF. @param uid needs no escape in a name */
export function person(uid: string, password: string, more = ""): string {
	const fields = `uid: ${uid}\ncn: ${uid} Example\nsn: Example\nmail: ${uid}@example.com\nuserPassword: ${password}\n`;
	return `dn: uid=${uid},${PEOPLE}\nobjectClass: inetOrgPerson\n${fields}${more}\n`;
}

/** Returns a group of `GROUPS`, as LDIF. */
export function group(cn: string, ...members: string[]): string {
	const lines = members.map((member) => `member: ${member}\n`);
	return `dn: cn=${cn},${GROUPS}\nobjectClass: groupOfNames\ncn: ${cn}\n${lines.join("")}\n`;
}

/**
 * Starts a directory and waits until it accepts connections.
 * @throws Error with its output when it ends first or stays silent for 10 s
 */
export async function startSlapd(options: SlapdOptions = {}): Promise<Slapd> {
	const folder = await mkdtemp(join(tmpdir(), "svc-slapd-"));
	const bind_dn = "cn=svc,ou=sys,dc=test";
	const bind_password = randomBytes(16).toString("hex");
	const { ca, cert, key } = await createIdentity(["127.0.0.1", "::1", "localhost"]);
	const [ldap_port, ldaps_port] = [await freePort(), await freePort()];
	await mkdir(join(folder, "db"));
	await writeFile(join(folder, "slapd.conf"), configuration(folder, bind_dn, options));
	await writeFile(join(folder, "server.crt"), cert);
	await writeFile(join(folder, "server.key"), key);
	await writeFile(join(folder, "tree.ldif"), tree(bind_dn, bind_password) + (options.entries ?? ""));
	await chmod(folder, 0o700);
	fill(folder);
	const hosts = [`ldap://127.0.0.1:${ldap_port}/`];
	if (options.tls !== false) hosts.push(`ldaps://127.0.0.1:${ldaps_port}/`);
	const child = await launch(folder, hosts.join(" "));
	return {
		ldap_url: `ldap://127.0.0.1:${ldap_port}`,
		ldaps_url: `ldaps://127.0.0.1:${ldaps_port}`,
		ldap_port,
		ldaps_port,
		ca,
		bind_dn,
		bind_password,
		pause: () => void child.kill("SIGSTOP"),
		resume: () => void child.kill("SIGCONT"),
		stop: async () => {
			if (child.exitCode === null && child.signalCode === null) {
				const ended = once(child, "close");
				child.kill("SIGKILL");
				await ended;
			}
			await rm(folder, { recursive: true });
		},
	};
}

function configuration(folder: string, bind_dn: string, { anonymous, tls }: SlapdOptions): string {
	const schemas = ["core", "cosine", "inetorgperson"].map((name) => `include ${SCHEMAS}/${name}.schema`);
	const certificate = [`TLSCertificateFile ${folder}/server.crt`, `TLSCertificateKeyFile ${folder}/server.key`];
	const readers = anonymous === true ? "by * read" : `by dn.exact="${bind_dn}" read by self read by * none`;
	return [
		...schemas,
		"modulepath /usr/lib/ldap",
		"moduleload back_mdb",
		`pidfile ${folder}/slapd.pid`,
		...(tls === false ? [] : [...certificate, "TLSVerifyClient never"]),
		...(anonymous === true ? [] : ["disallow bind_anon"]),
		"sizelimit unlimited",
		"database mdb",
		"maxsize 67108864",
		"dbnosync",
		'suffix "dc=test"',
		`directory ${folder}/db`,
		"index objectClass,uid,mail,member eq",
		"access to attrs=userPassword by anonymous auth by * none",
		`access to * ${readers}`,
		"",
	].join("\n");
}

function tree(bind_dn: string, bind_password: string): string {
	return `dn: dc=test
objectClass: dcObject
objectClass: organization
o: Test
dc: test

dn: ou=sys,dc=test
objectClass: organizationalUnit
ou: sys

dn: ${PEOPLE}
objectClass: organizationalUnit
ou: people

dn: ${GROUPS}
objectClass: organizationalUnit
ou: groups

dn: ${bind_dn}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: svc
userPassword: ${bind_password}

`;
}

function fill(folder: string): void {
	const files = ["-f", join(folder, "slapd.conf"), "-l", join(folder, "tree.ldif")];
	const { status, stderr } = spawnSync(SLAPD, ["-T", "add", ...files], { encoding: "utf8" });
	if (status !== 0) throw new Error(`the directory could not be filled: ${stderr}`);
}

async function launch(folder: string, hosts: string): Promise<ChildProcess> {
	// It stays in the foreground, and reports when it is ready.
	const child = spawn(SLAPD, ["-d", "stats", "-f", join(folder, "slapd.conf"), "-h", hosts], { stdio: "pipe" });
	const killWithTest = () => void child.kill("SIGKILL");
	process.once("exit", killWithTest);
	child.once("exit", () => process.off("exit", killWithTest));
	await new Promise<void>((resolve, reject) => {
		let written = "";
		const silence = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
		child.once("close", () => reject(new Error(`slapd did not start: ${written}`)));
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			written = (written + text).slice(-4096);
			if (!written.includes("slapd starting")) return;
			clearTimeout(silence);
			resolve();
		});
	});
	return child;
}
