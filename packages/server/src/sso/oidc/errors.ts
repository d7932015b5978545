import { AuthorizationResponseError, ClientError, ResponseBodyError } from "openid-client";
import { ProviderUnavailable, type RefusalReason, SsoRefusal } from "../model.ts";

/** The reason to refuse an id_token, by the claim that is missing or wrong. */
const CLAIMS: Readonly<Record<string, RefusalReason>> = {
	iss: "issuer",
	aud: "audience",
	azp: "audience",
	nonce: "nonce",
	sub: "subject",
	exp: "expired",
};

/** The reason for a refusal, by the library's error code. */
const CODES: Readonly<Record<string, RefusalReason>> = {
	OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "expired",
	OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: "subject",
	OAUTH_KEY_SELECTION_FAILED: "signature",
	OAUTH_UNSUPPORTED_OPERATION: "algorithm",
};

/** Errors of a token endpoint that concern us, not the person. */
const OURS = ["invalid_client", "unauthorized_client"];

/** The library's additions to an error: which of them are present tells what failed. */
interface Details {
	claim?: string;
	claims?: Record<string, unknown>;
	/** Of the browser's request. */
	parameters?: unknown;
	/** Of a token, with the algorithms that are `expected`. */
	header?: unknown;
	signature?: unknown;
}

/** Translates an error of the library. The result contains nothing of the error, which may contain tokens. */
export function translateError(error: unknown): SsoRefusal | ProviderUnavailable {
	if (error instanceof AuthorizationResponseError) return new SsoRefusal("provider_error");
	if (error instanceof ResponseBodyError) {
		if (!OURS.includes(error.error)) return new SsoRefusal("code");
		return new ProviderUnavailable("the provider rejects client_id and client_secret");
	}
	if (!(error instanceof ClientError)) return new SsoRefusal("malformed");
	if (error.cause instanceof ProviderUnavailable) return error.cause;
	const { cause: details } = (error.cause ?? {}) as { cause?: Details };
	return new SsoRefusal(CODES[error.code ?? ""] ?? reasonOf(details ?? {}));
}

function reasonOf({ claim, claims, parameters, header, signature }: Details): RefusalReason {
	if (claim !== undefined) return CLAIMS[claim] ?? "malformed";
	if (claims !== undefined) {
		const missing = Object.keys(CLAIMS).find((name) => name !== "azp" && claims[name] === undefined);
		return CLAIMS[missing ?? ""] ?? "malformed";
	}
	// The state was compared before, so the issuer's name must be wrong.
	if (parameters !== undefined) return "issuer";
	if (signature !== undefined) return "signature";
	return header === undefined ? "malformed" : "algorithm";
}
