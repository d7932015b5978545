import { hash, randomBytes } from "node:crypto";
import type { Option } from "commander";
import { rows, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { explainRefusal } from "../client/failures.ts";
import { type Context, option } from "../command-line/command.ts";
import { notFound } from "../command-line/not-found.ts";
import { setting, write } from "../io/io.ts";
import { openBrowser } from "./browser.ts";
import { awaitBrowser } from "./loopback.ts";

const VERIFIER_BYTES = 32;

/** Options of a command that may need a browser. */
export interface BrowserOptions {
	/** False when no browser is to be opened. */
	readonly browser?: boolean;
}

/** The option of `BrowserOptions`. */
export const NO_BROWSER: Option = option("--no-browser", "only print the address, without opening a browser");

/** A paragraph of the help of commands that may need a browser. */
export const BROWSER_HELP =
	"svc prints the address to open, and opens it if there is a display. The browser must run on this machine, because the sign-in ends with a redirect back to svc; over SSH, forward the port with `ssh -L`. --address must be the server's base_url, or the identity provider redirects the browser elsewhere.";

/** Proof to the server that this program's browser signed in. */
interface Proof {
	readonly code: string;
	readonly verifier: string;
}

/** The type of a provider: oidc, saml or ldap. @throws Failure notFound when none has this name */
export async function findProvider(client: Client, name: string): Promise<string> {
	const providers = rows(await send(client, { method: "GET", path: "auth/providers" }), "providers");
	const provider = providers.find((one) => one.name === name);
	if (provider !== undefined) return text(provider, "type");
	const known = providers.map((one) => text(one, "name"));
	throw notFound({ noun: "provider", typed: [name], known, hint: "`svc sso list` shows the providers" });
}

/**
 * Waits for a person to sign in with a browser, which may take minutes.
 * @param type oidc or saml
 * @param again whether the provider must ask who they are, though it knows the browser
 * @throws Failure when nobody does
 */
export async function proveInBrowser(
	{ io, options }: Context<BrowserOptions>,
	client: Client,
	type: string,
	name: string,
	again = false,
): Promise<Proof> {
	using listener = await awaitBrowser();
	const { port } = listener;
	const verifier = randomBytes(VERIFIER_BYTES).toString("base64url");
	const begin = path`auth/${type}/${name}/login`;
	const query = `cli_port=${port}&cli_challenge=${hash("sha256", verifier, "base64url")}${again ? "&again=true" : ""}`;
	const login = `${client.address}/api/v1/${begin}?${query}`;
	await write(io.stderr, `open this address in a browser to sign in:\n${login}\n`);
	if (setting(io, "SSH_CONNECTION") !== undefined)
		await write(
			io.stderr,
			`the browser must run on this machine, or where \`ssh -L ${port}:127.0.0.1:${port}\` leads here from\n`,
		);
	if (options.browser !== false) openBrowser(io, login);
	const result = await listener.result;
	if ("code" in result) return { code: result.code, verifier };
	const { status, message } = REFUSALS.get(result.error) ?? REFUSED;
	const answer = { error: { code: result.error, message } };
	throw explainRefusal(client, { method: "GET", path: begin }, { status, retryAfter: undefined, answer });
}

/** Meaning of the codes with which the server redirects a browser. Any page could send one here, so it says no more than its code. */
const REFUSALS: ReadonlyMap<string, { readonly status: number; readonly message: string }> = new Map([
	["provider_unavailable", { status: 503, message: "the identity provider is unavailable" }],
	["forbidden", { status: 403, message: "the provider does not say that it asked again who you are" }],
	["rate_limited", { status: 429, message: "too many logins from here were refused" }],
]);
const REFUSED = { status: 401, message: "the login was refused: try again; the audit log has the reason" };
