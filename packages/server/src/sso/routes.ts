import * as v from "valibot";
import { CurrentPassword, FactorCode, Invited } from "../accounts/model.ts";
import { publicRoute, type Route, route } from "../http/route.ts";
import { Count, errorMessage, RequiredText, Text, Uuid } from "../messages.ts";
import { isAlias } from "./address.ts";
import type { Waiting } from "./flows.ts";
import { linkRoutes, OWNER_ERRORS } from "./link-routes.ts";
import {
	beginLogin,
	endOidcLogin,
	endSamlLogin,
	type LoginNeeds,
	linkByCode,
	linkByDirectory,
	loginWithDirectory,
	redeemCode,
} from "./login.ts";
import type { LoginResult } from "./login-result.ts";
import { DirectoryCredentials } from "./model.ts";
import { providerRoutes } from "./provider-routes.ts";
import { findProviderOf, serviceProvider } from "./providers.ts";

const ProfileSchema = v.object({ id: Uuid, email: v.string(), name: v.string() });
const SignedInSchema = v.object({ token: v.string(), expires_at: Count, user: ProfileSchema });
const IdentitySchema = v.object({ provider: v.string(), email: v.string(), name: v.string() });
const MessageSchema = v.object({ message: v.string() });

const LOGIN_ERRORS = [
	"not_found",
	"unauthorized",
	"registration_disabled",
	"conflict",
	"provider_unavailable",
	"rate_limited",
] as const;

const PORT = errorMessage("validation_failed", "cli_port must be a port on loopback: 1024 to 65535");
const AGAIN = errorMessage("validation_failed", "again must be true or false");
const CHALLENGE = errorMessage("validation_failed", "cli_challenge must be the SHA-256 of the verifier in base64url");

/** The address at which a command line program waits for its browser: both fields or neither. */
const WaitingQuery = v.pipe(
	v.object({
		cli_port: v.optional(
			v.pipe(
				Text,
				v.metadata({ type: "integer", minimum: 1024, maximum: 65_535 }),
				v.regex(/^[1-9]\d{3,4}$/, PORT),
				v.check((text) => Number(text) >= 1024 && Number(text) <= 65_535, PORT),
			),
		),
		cli_challenge: v.optional(v.pipe(Text, v.regex(/^[\w-]{43}$/, CHALLENGE))),
		again: v.optional(v.picklist(["true", "false"], AGAIN)),
	}),
	v.check(
		({ cli_port, cli_challenge }) => (cli_port === undefined) === (cli_challenge === undefined),
		errorMessage("validation_failed", "cli_port and cli_challenge must be given together"),
	),
);

/** The text whose SHA-256 was the challenge: 32 random bytes or more. */
const Proof = v.object({
	code: RequiredText,
	verifier: v.pipe(
		RequiredText,
		v.minLength(43, errorMessage("validation_failed", "verifier must have at least 43 characters")),
	),
});

/** Spec: API › SSO, Accounts and login. Design: §7.1, §11. */
export function ssoRoutes(needs: LoginNeeds): Route[] {
	return [
		...oidcRoutes(needs),
		...samlRoutes(needs),
		...ldapRoutes(needs),
		...programRoutes(needs),
		...linkRoutes(needs),
		...providerRoutes(needs),
	];
}

function waitingOf(needs: LoginNeeds, query: v.InferOutput<typeof WaitingQuery>): Waiting | null {
	const { cli_port, cli_challenge, again } = query;
	if (cli_port === undefined || cli_challenge === undefined) return null;
	const since_ms = again === "true" ? needs.system.now().getTime() : undefined;
	return { address: `http://127.0.0.1:${cli_port}/`, challenge: cli_challenge, since_ms };
}

/** The route that begins a login, for both browser protocols. */
function loginRoute(needs: LoginNeeds, type: "oidc" | "saml"): Route {
	return publicRoute({
		method: "GET",
		path: `/api/v1/auth/${type}/{provider}/login`,
		summary: "Sign in with a browser: redirects to the identity provider",
		query: WaitingQuery,
		status: 302,
		answer: v.string(),
		errors: ["not_found", "provider_unavailable", "rate_limited", "validation_failed"],
		async handle({ params: { provider }, query, headers, host, request_id, ip }) {
			const address = needs.address();
			if (isAlias(host, address)) {
				const same = new URLSearchParams(query as Record<string, string>);
				headers.location = `${address}/api/v1/auth/${type}/${encodeURIComponent(provider)}/login?${same}`;
				return "";
			}
			const { location, cookie } = await beginLogin(needs, { request_id, ip }, type, provider, waitingOf(needs, query));
			Object.assign(headers, { location, "set-cookie": cookie });
			return "";
		},
	});
}

/** Answers with a session, or with the address of the program that waits for it. */
function answerTo(result: LoginResult, headers: Record<string, string>): object | "" {
	headers["set-cookie"] = result.cookie;
	if ("signedIn" in result) return result.signedIn;
	headers.location = result.location;
	return "";
}

const redirect = { status: 302, when: (answer: unknown) => answer === "" } as const;

function oidcRoutes(needs: LoginNeeds): Route[] {
	const optional = v.optional(Text);
	return [
		loginRoute(needs, "oidc"),
		publicRoute({
			method: "GET",
			path: "/api/v1/auth/oidc/{provider}/callback",
			summary: "Callback to which the OpenID Connect provider redirects the browser",
			query: v.looseObject({ code: optional, state: optional, iss: optional, error: optional }),
			status: 200,
			answer: SignedInSchema,
			errors: [...LOGIN_ERRORS, "validation_failed"],
			other: redirect,
			async handle({ params, query, cookie, headers, request_id, ip }) {
				const given = query as Record<string, string>;
				return answerTo(await endOidcLogin(needs, { request_id, ip }, params.provider, given, cookie), headers);
			},
		}),
	];
}

function samlRoutes(needs: LoginNeeds): Route[] {
	return [
		loginRoute(needs, "saml"),
		publicRoute({
			method: "POST",
			path: "/api/v1/auth/saml/{provider}/acs",
			summary: "Assertion consumer service, to which the SAML identity provider posts its answer",
			body: v.object({ SAMLResponse: RequiredText }),
			isForm: true,
			status: 200,
			answer: SignedInSchema,
			errors: LOGIN_ERRORS,
			other: redirect,
			async handle({ params, body, cookie, headers, request_id, ip }) {
				const result = await endSamlLogin(needs, { request_id, ip }, params.provider, body.SAMLResponse, cookie);
				return answerTo(result, headers);
			},
		}),
		publicRoute({
			method: "GET",
			path: "/api/v1/auth/saml/{provider}/metadata",
			summary: "SAML metadata of this server, for the identity provider",
			status: 200,
			answer: v.string(),
			media: "application/xml",
			errors: ["not_found"],
			async handle({ params }) {
				const { name, is } = await findProviderOf(needs, "saml", params.provider);
				const sp = serviceProvider(needs, name, is.settings);
				return (await needs.protocols.saml()).metadata(sp, is.settings.request_key?.certificate);
			},
		}),
	];
}

function ldapRoutes(needs: LoginNeeds): Route[] {
	return [
		publicRoute({
			method: "POST",
			path: "/api/v1/auth/ldap/{provider}/login",
			summary: "Sign in with a directory's user name and password",
			body: v.object({ ...DirectoryCredentials.entries, ...Invited.entries }),
			status: 200,
			answer: SignedInSchema,
			errors: [...LOGIN_ERRORS, "invalid_credentials"],
			handle: ({ params, body: { invitation, ...who }, request_id, ip }) =>
				loginWithDirectory(needs, { request_id, ip }, params.provider, { ...who, invitation }),
		}),
		route({
			method: "POST",
			path: "/api/v1/auth/ldap/{provider}/link",
			summary: "Link an identity of a directory with the caller's account",
			body: v.object({
				...DirectoryCredentials.entries,
				current_password: v.nullish(CurrentPassword),
				code: v.nullish(FactorCode),
			}),
			status: 200,
			answer: MessageSchema,
			errors: [
				"not_found",
				"invalid_credentials",
				"conflict",
				...OWNER_ERRORS,
				"wrong_code",
				"limit_reached",
				"provider_unavailable",
			],
			async handle({ actor, params, body }) {
				await linkByDirectory(needs, actor, params.provider, body);
				return { message: "identity linked" };
			},
		}),
	];
}

/** Routes for a command line program with the code that its browser brought. */
function programRoutes(needs: LoginNeeds): Route[] {
	return [
		publicRoute({
			method: "POST",
			path: "/api/v1/auth/sso/token",
			summary: "Exchange a one-time code of a browser sign-in for the program's session",
			body: v.object({ ...Proof.entries, ...Invited.entries }),
			status: 200,
			answer: SignedInSchema,
			errors: [...LOGIN_ERRORS, "invalid_credentials"],
			handle: ({ body: { invitation, ...proof }, request_id, ip }) =>
				redeemCode(needs, { request_id, ip }, { ...proof, invitation }),
		}),
		route({
			method: "POST",
			path: "/api/v1/auth/sso/link",
			summary: "Show the identity that signed in with a browser and, with confirm, link it with the caller's account",
			body: v.object({
				...Proof.entries,
				confirm: v.nullish(v.boolean(), false),
				current_password: v.nullish(CurrentPassword),
				factor_code: v.nullish(FactorCode),
			}),
			status: 200,
			answer: v.object({ ...MessageSchema.entries, identity: IdentitySchema }),
			errors: ["conflict", ...OWNER_ERRORS, "wrong_code", "limit_reached"],
			async handle({ actor, body: { confirm, current_password, factor_code, ...proof } }) {
				const link = {
					confirm,
					current_password: current_password ?? undefined,
					factor_code: factor_code ?? undefined,
				};
				const identity = await linkByCode(needs, actor, proof, link);
				return { message: confirm ? "identity linked" : "send it again with confirm to link this identity", identity };
			},
		}),
	];
}
