/** Whom a connection believes: an authority, in PEM, or whoever answers. */
export type Trust = { ca: string } | "unverified";

/** How the engine proves who it is. Certificate and key are PEM. */
export type Identity = { token: string } | { tokenFile: string } | { certificate: string; key: string };

/** What one source of the configuration says; another may say the rest. */
export interface Source {
	server?: string | undefined;
	trust?: Trust | undefined;
	/** The name in the server's certificate, where it is not the address. */
	servername?: string | undefined;
	identity?: Identity | undefined;
	namespace?: string | undefined;
}

/** A configuration that the engine cannot work with. The message says which value, and holds nothing of it. */
export class ConfigError extends Error {
	override readonly name = "ConfigError";
}

/** The system's word for why a file cannot be read, such as ENOENT. */
export function errorCode(error: unknown): string {
	return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
