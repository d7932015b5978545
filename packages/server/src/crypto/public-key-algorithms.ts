/** Permitted algorithms of signatures that others make: none with a shared secret, and never `none`. Design: §11, §15 */
export const PUBLIC_KEY_ALGORITHMS: readonly string[] = [
	...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
	...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
