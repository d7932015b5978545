import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Config, isLoopback } from "../../config.ts";
import { FatalError } from "../../errors.ts";

/** Place of a database, and who signs in there. */
export interface Address {
	/** Name or address, or the folder of a Unix socket. */
	host: string;
	port: number;
	database: string;
	user: string;
	/** Empty where the server asks for none. */
	password: string;
	/** Certificates, in PEM, that the server's is checked against (Node's own if undefined), and its name with them; without `tls` nothing is encrypted. */
	tls?: { ca: string | undefined };
}

const DEFAULT_PORT = 5432;

/** Parameters of `database_url`. */
const PARAMETERS = ["host", "sslmode", "sslrootcert"];

/**
 * Reads the addresses of the database, one for each host that `database_url` names, and the password from the credential `database-password`, else from
 * `database_password_file`, else from the address. Everything but loopback and Unix sockets takes TLS with a certificate of that name.
 * @throws FatalError naming the setting and what it must be; it repeats nothing of it
 */
export function readAddresses(config: Pick<Config, "database" | "credentials_dir">): Address[] {
	const { first, others } = splitHosts(config.database?.url.reveal() ?? "");
	const url = parse(first);
	const given = url.searchParams;
	const other = [...given.keys()].find((name) => !PARAMETERS.includes(name) || given.getAll(name).length > 1);
	if (other !== undefined) throw wrong(`may have each of the parameters ${PARAMETERS.join(", ")} once, and no others`);
	const [user, database] = [decode(url.username), decode(url.pathname.slice(1))];
	const password = passwordIn(config) ?? decode(url.password);
	return placesOf(url, others).map(({ host, port }) => {
		if (host === "" || user === "" || database === "")
			throw wrong("must name the host, the user and the database: postgres://USER@HOST:5432/DATABASE");
		const tls = tlsOf(host, given.get("sslmode"), given.get("sslrootcert"));
		return { host, port, database, user, password, ...(tls && { tls }) };
	});
}

/** The part before the hosts, and the hosts. */
const HOSTS = /^(\w+:\/\/(?:[^@/?#]*@)?)([^/?#]*)/;

/** Separates the hosts after the first one, which no URL may have. */
function splitHosts(text: string): { first: string; others: string[] } {
	const [before = "", start = "", hosts = ""] = HOSTS.exec(text) ?? [];
	const [first = "", ...others] = hosts.split(",");
	return { first: `${start}${first}${text.slice(before.length)}`, others };
}

/** Lists the hosts with their ports: one of the parameters, or those of the address. */
function placesOf(url: URL, others: readonly string[]): Pick<Address, "host" | "port">[] {
	const portOf = ({ port }: URL) => (port === "" ? DEFAULT_PORT : Number(port));
	const named = url.searchParams.get("host");
	if (named !== null && (named.includes(",") || others.length > 0))
		throw wrong("must name several hosts before the database: postgres://USER@ONE:5432,TWO:5432/DATABASE");
	if (named !== null) return [{ host: named, port: portOf(url) }];
	return [url, ...others.map((other) => parse(`${url.protocol}//${other}`))].map((place) => ({
		host: decode(place.hostname).replace(/^\[|\]$/g, ""),
		port: portOf(place),
	}));
}

/** Names a database for people, without the password. */
export function nameOf({ host, port, database, user }: Address): string {
	const place = host.startsWith("/") ? `:${port}/${database}?host=${host}` : `${host}:${port}/${database}`;
	return `postgres://${user}@${place}`;
}

function parse(text: string): URL {
	try {
		return new URL(text);
	} catch {
		throw wrong("must be an address: postgres://USER@HOST:5432/DATABASE");
	}
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		throw wrong("must have % only before two hexadecimal digits");
	}
}

function tlsOf(host: string, mode: string | null, root: string | null): Address["tls"] {
	if (mode !== null && mode !== "verify-full" && mode !== "disable")
		throw wrong("must have sslmode=verify-full, or sslmode=disable on loopback or a Unix socket");
	const isLocal = host.startsWith("/") || isLoopback(host);
	if (isLocal && mode !== "verify-full") return undefined;
	if (mode === "disable")
		throw wrong(
			"must not have sslmode=disable unless the database is on loopback or a Unix socket: it is in clear text",
		);
	return { ca: root === null ? undefined : readNamed(root, "sslrootcert of database_url") };
}

function passwordIn({ database, credentials_dir }: Pick<Config, "database" | "credentials_dir">): string | undefined {
	const credential = credentials_dir && join(credentials_dir, "database-password");
	if (credential && existsSync(credential)) return withoutNewline(readNamed(credential, "the credential"));
	const file = database?.password_file;
	if (file === undefined) return undefined;
	const password = readNamed(file, "database_password_file");
	if ((statSync(file).mode & 0o077) !== 0)
		throw new FatalError(`${file} is accessible to other users: run chmod 600 ${file}`);
	return withoutNewline(password);
}

function withoutNewline(text: string): string {
	return text.replace(/\r?\n$/, "");
}

function readNamed(file: string, what: string): string {
	try {
		return readFileSync(file, "utf8");
	} catch (cause) {
		const { code } = cause as NodeJS.ErrnoException;
		throw new FatalError(`${what} (${file}) cannot be read (${code}): check its path and permissions`, 78, { cause });
	}
}

function wrong(must: string): FatalError {
	return new FatalError(`database_url (SVC_DATABASE_URL) ${must}`);
}
