import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { makeKey, type SigningKey, skipWithoutOpenssl } from "./saml-documents.ts";

/** The folder of Debian's package, and that of the SAML schemas. */
const PACKAGE = "/usr/share/simplesamlphp";
export const SCHEMAS = join(PACKAGE, "schemas");

const START_TIMEOUT_MS = 120_000;

/** `false` where SimpleSAMLphp can be started, else the reason to skip the test. */
export const skipWithoutSimplesaml: string | false = whyNot();

function whyNot(): string | false {
	if (!existsSync(join(PACKAGE, "www"))) return "simplesamlphp is not installed: apt-get install simplesamlphp";
	if (spawnSync("php", ["-r", "exit(extension_loaded('dom') && extension_loaded('mbstring') ? 0 : 1);"]).status !== 0) {
		return "php is not installed: apt-get install php-cli php-xml php-mbstring php-curl php-intl";
	}
	return skipWithoutOpenssl;
}

/** A person whom the provider knows: her password and attributes. */
export interface Person {
	password: string;
	attributes: Record<string, string[]>;
}

/** A real SAML identity provider on loopback. */
export interface Simplesaml {
	/** Returns its metadata, XML. */
	metadata(): Promise<string>;
	/** Makes it answer these service providers only. @param metadata XML of each */
	trust(...metadata: string[]): Promise<void>;
	/**
	 * Acts as a browser: follows the address of a login, signs in, and returns the form that it would post to us.
	 * @throws Error with the provider's page when it has no such form
	 */
	signIn(loginUrl: string, username: string, password: string): Promise<PostedForm>;
	stop(): Promise<void>;
}

/** The form that a browser would post, and its address. */
export interface PostedForm {
	action: string;
	fields: Record<string, string>;
}

/**
 * Starts SimpleSAMLphp under PHP's own web server and waits until it answers.
 * @param people by user name; `uid` in their attributes is their permanent id, `email` is their NameID when requested
 * @throws Error with its output when it does not answer in time
 */
export async function startSimplesaml(people: Record<string, Person>): Promise<Simplesaml> {
	const folder = await mkdtemp(join(tmpdir(), "svc-simplesaml-"));
	const port = await freePort();
	const base = `http://127.0.0.1:${port}/simplesaml/`;
	const key = makeKey("rsa:2048");
	await configure(folder, base, key, people);
	const peer = await launch(folder, port, `${base}saml2/idp/metadata.php`);
	const trust = async (...metadata: string[]) => {
		const entities = metadata.map((text) => text.replace(/^<\?xml[^>]*>/, ""));
		const wrapper = '<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">';
		await writeFile(join(folder, "service-providers.xml"), `${wrapper}${entities.join("")}</md:EntitiesDescriptor>`);
	};
	return {
		metadata: async () => (await fetch(`${base}saml2/idp/metadata.php`)).text(),
		trust,
		signIn: (loginUrl, username, password) => browse(loginUrl, { username, password }),
		async stop() {
			await peer.end();
			await rm(folder, { recursive: true });
		},
	};
}

/** Writes a value in PHP. JSON texts are also PHP texts as long as they contain no dollar sign. */
function php(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(php).join(",")}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value).replaceAll("$", "\\$");
	return `[${Object.entries(value)
		.map(([name, item]) => `${php(name)}=>${php(item)}`)
		.join(",")}]`;
}

async function configure(folder: string, base: string, key: SigningKey, people: Record<string, Person>): Promise<void> {
	for (const name of ["config", "metadata", "cert", "log", "data", "tmp", "sess"]) await mkdir(join(folder, name));
	const write = (name: string, text: string) => writeFile(join(folder, name), text);
	await write("cert/idp.pem", key.private_key);
	await write("cert/idp.crt", key.certificate);
	await write("service-providers.xml", '<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata"/>');
	await write("config/config.php", `<?php $config = ${php(configuration(folder, base))};`);
	const users = Object.entries(people).map(([name, { password, attributes }]) => [`${name}:${password}`, attributes]);
	const sources = { people: { 0: "exampleauth:UserPass", ...Object.fromEntries(users) } };
	// The first item of a list, the source's class, has the number 0 as its key.
	await write("config/authsources.php", `<?php $config = ${php(sources).replace('"0"=>', "0=>")};`);
	await write("metadata/saml20-idp-hosted.php", `<?php $metadata = ${php({ "__DYNAMIC:1__": HOSTED })};`);
	await write("router.php", ROUTER);
}

function configuration(folder: string, base: string): object {
	const path = (name: string) => `${join(folder, name)}/`;
	return {
		baseurlpath: base,
		certdir: path("cert"),
		loggingdir: path("log"),
		datadir: path("data"),
		tempdir: path("tmp"),
		metadatadir: path("metadata"),
		attributenamemapdir: `${PACKAGE}/attributemap/`,
		secretsalt: randomBytes(16).toString("hex"),
		technicalcontact_email: "nobody@example.com",
		timezone: "UTC",
		"logging.handler": "file",
		"enable.saml20-idp": true,
		"module.enable": { exampleauth: true, core: true, saml: true },
		"session.cookie.secure": false,
		"session.phpsession.savepath": join(folder, "sess"),
		"store.type": "phpsession",
		"metadata.sources": [
			{ type: "flatfile", directory: path("metadata") },
			{ type: "xml", file: join(folder, "service-providers.xml") },
		],
		"language.available": ["en"],
		"language.default": "en",
	};
}

const EMAIL = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";

/** The provider itself. It signs both the response and the assertion. */
const HOSTED = {
	host: "__DEFAULT__",
	privatekey: "idp.pem",
	certificate: "idp.crt",
	auth: "people",
	"signature.algorithm": "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
	authproc: {
		3: { class: "saml:AttributeNameID", attribute: "email", Format: EMAIL },
		4: { class: "saml:PersistentNameID", attribute: "uid" },
	},
};

/** Configures PHP's web server as the package's own configuration does for Apache. */
const ROUTER = `<?php
$path = preg_replace("#^/simplesaml#", "", parse_url($_SERVER["REQUEST_URI"], PHP_URL_PATH));
if (!preg_match("#^(/.*?\\.php)(/.*)?$#", $path, $match)) { readfile("${PACKAGE}/www" . $path); return true; }
$file = "${PACKAGE}/www" . $match[1];
$_SERVER["SCRIPT_NAME"] = $_SERVER["PHP_SELF"] = "/simplesaml" . $match[1];
$_SERVER["SCRIPT_FILENAME"] = $file;
if (isset($match[2])) { $_SERVER["PATH_INFO"] = $match[2]; $_SERVER["PHP_SELF"] .= $match[2]; }
chdir(dirname($file));
require $file;
`;

async function launch(folder: string, port: number, url: string): Promise<{ end(): Promise<void> }> {
	const child = spawn(
		"php",
		[
			...["-d", "display_errors=0", "-d", "error_reporting=0", "-d", `session.save_path=${join(folder, "sess")}`],
			...["-S", `127.0.0.1:${port}`, join(folder, "router.php")],
		],
		{
			cwd: folder,
			env: { PATH: "/usr/bin:/bin", SIMPLESAMLPHP_CONFIG_DIR: join(folder, "config") },
			stdio: ["ignore", "ignore", "pipe"],
		},
	);
	const killWithTest = () => void child.kill("SIGKILL");
	process.once("exit", killWithTest);
	let written = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		written = (written + text).slice(-4096);
	});
	const end = () => endProcess(child).finally(() => process.off("exit", killWithTest));
	for (const deadline = performance.now() + START_TIMEOUT_MS; ; await sleep(50)) {
		const answer = await fetch(url).catch(() => undefined);
		if (answer?.ok === true) return { end };
		if (performance.now() < deadline) continue;
		await end();
		throw new Error(`simplesamlphp did not start: ${written} ${answer?.status} ${await answer?.text()}`);
	}
}

async function endProcess(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const ended = once(child, "close");
	child.kill("SIGKILL");
	await ended;
}

/** Walks the pages between a login's address and our own: the redirect, the password form, the answer. */
async function browse(start: string, credentials: Record<string, string>): Promise<PostedForm> {
	const cookies = new Map<string, string>();
	const ask = async (url: string, body?: URLSearchParams): Promise<Response> => {
		const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
		const method = body === undefined ? "GET" : "POST";
		const answer = await fetch(url, { method, redirect: "manual", headers: { cookie }, ...(body && { body }) });
		for (const set of answer.headers.getSetCookie()) {
			const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
			cookies.set(name, value);
		}
		const location = answer.headers.get("location");
		return location === null ? answer : ask(new URL(location, url).href);
	};
	const page = await ask(start);
	const login = formOf(await page.text());
	const answered = await ask(
		new URL(login.action || page.url, page.url).href,
		new URLSearchParams({ ...login.fields, ...credentials }),
	);
	const form = formOf(await answered.text());
	if (!("SAMLResponse" in form.fields)) throw new Error(`no response came from ${answered.url}`);
	return form;
}

/** Returns the first form of a page. */
function formOf(html: string): PostedForm {
	const plain = (text = "") =>
		text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
	const [, attributes = "", inner = ""] = /<form([^>]*)>(.*?)<\/form>/s.exec(html) ?? [];
	const fields: Record<string, string> = {};
	for (const [, input = ""] of inner.matchAll(/<input([^>]*)>/g)) {
		const name = /name="([^"]*)"/.exec(input)?.[1];
		if (name !== undefined) fields[name] = plain(/value="([^"]*)"/.exec(input)?.[1]);
	}
	return { action: plain(/action="([^"]*)"/.exec(attributes)?.[1]), fields };
}
