import { createSigningCertificate } from "@svc/x509";
import type { System } from "../system.ts";
import type { SamlSettings } from "./settings.ts";

/** Days for which a certificate of our requests is valid: a new one has to be registered at the provider. */
const REQUEST_KEY_DAYS = 7300;

/** Makes the key that signs our requests to a SAML provider, with the certificate that is registered there. */
export function createRequestKey({
	now,
	randomBytes,
}: Pick<System, "now" | "randomBytes">): Promise<Required<SamlSettings>["request_key"]> {
	return createSigningCertificate({
		common_name: "svc SAML requests",
		now: now(),
		days: REQUEST_KEY_DAYS,
		randomBytes,
	});
}
