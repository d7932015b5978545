import { generateKeyPairSync, randomBytes } from "node:crypto";
import Provider, { type Configuration, type InteractionResults } from "oidc-provider";
import { type OidcPeer, startTlsServer } from "./oidc-server.ts";

/** A person at the provider: the claims of the id_token and userinfo. `sub` is the person's key. */
export type Person = Readonly<Record<string, unknown>>;

/** Options of a provider. */
export interface OidcProviderOptions {
	/** Addresses to which browsers may be sent back. */
	readonly redirect_uris: readonly string[];
	/** Claims by subject. */
	readonly people: Readonly<Record<string, Person>>;
	/** Puts all claims into the id_token instead of userinfo. */
	readonly claims_in_id_token?: boolean;
}

/** A real OpenID Connect provider (npm oidc-provider) on loopback, over TLS with its own authority. */
export interface OidcProvider extends OidcPeer {
	/** The person who logs in next. */
	person: string;
	/** Makes the next logins end with this error instead of a code. */
	error: string | undefined;
	stop(): Promise<void>;
}

/** Starts a provider on a free port, which takes everybody for `person` and asks no questions. */
export async function startOidcProvider(options: OidcProviderOptions): Promise<OidcProvider> {
	const { origin: issuer, ca: ca_cert, answer, stop } = await startTlsServer();
	const peer: OidcProvider = {
		issuer,
		client_id: "svc",
		client_secret: randomBytes(24).toString("base64url"),
		ca_cert,
		person: Object.keys(options.people)[0] ?? "",
		error: undefined,
		stop,
	};
	const provider = new Provider(issuer, configurationOf(peer, options));
	const proceed = provider.callback();
	answer((request, response) => {
		if (request.url?.startsWith("/interaction/") !== true) return void proceed(request, response);
		interact(provider, peer, request, response).catch((error) => response.destroy(error));
	});
	return peer;
}

function configurationOf(
	{ client_id, client_secret }: OidcProvider,
	{ redirect_uris, people, claims_in_id_token = false }: OidcProviderOptions,
): Configuration {
	const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
	return {
		clients: [{ client_id, client_secret, redirect_uris: [...redirect_uris] }],
		jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "first", use: "sig", alg: "RS256" } as never] },
		cookies: { keys: [randomBytes(16).toString("hex")] },
		pkce: { required: () => true },
		claims: { openid: ["sub", "groups"], email: ["email", "email_verified"], profile: ["name"] },
		conformIdTokenClaims: !claims_in_id_token,
		features: { devInteractions: { enabled: false } },
		interactions: { url: (_, { uid }) => `/interaction/${uid}` },
		findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...people[sub], sub }) }),
	};
}

/** Acts as a person on the provider's pages: logs in, agrees, or is refused. */
async function interact(
	provider: Provider,
	peer: OidcProvider,
	...exchange: Parameters<Provider["interactionDetails"]>
): Promise<void> {
	const { prompt, params, session } = await provider.interactionDetails(...exchange);
	const finish = (result: InteractionResults) =>
		provider.interactionFinished(...exchange, result, { mergeWithLastSubmission: prompt.name !== "login" });
	if (peer.error !== undefined) return finish({ error: peer.error, error_description: "<script>alert(1)</script>" });
	if (prompt.name === "login") return finish({ login: { accountId: peer.person } });
	const grant = new provider.Grant({ accountId: session?.accountId ?? "", clientId: String(params.client_id) });
	grant.addOIDCScope(String(params.scope));
	return finish({ consent: { grantId: await grant.save() } });
}
