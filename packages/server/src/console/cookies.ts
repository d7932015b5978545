const SESSION = "svc-session";
/** Holds nothing: a page that held a value leaves the browser's memory once a cookie changes. */
const SEEN = "svc-seen";
/** Binds a login at a provider to the browser that began it. */
const LOGIN = "svc-login";
/** Seconds that a login at a provider may take, as the server's flows do. */
const LOGIN_SECONDS = 600;
/** Names the browser in which a passkey is to sign. */
const PASSKEY = "svc-passkey";
/** Seconds for which it may: those of a challenge. */
const PASSKEY_SECONDS = 300;

/** Names and attributes of the console's cookies under its address. Design: §16 */
export interface Cookies {
	/** Reads the session's cookie; undefined without one, or with two. */
	read(header: string | undefined): string | undefined;
	begin(token: string): string;
	end(): string;
	/** Changes a cookie, so that browsers forget the page before. @param mark differs each time */
	forget(mark: string): string;
	/** Reads what `beginLogin` set; undefined without it, or with two. */
	readLogin(header: string | undefined): string | undefined;
	beginLogin(value: string): string;
	endLogin(): string;
	/** Reads what `beginPasskey` set; undefined without it, or with two. */
	readPasskey(header: string | undefined): string | undefined;
	beginPasskey(value: string): string;
	endPasskey(): string;
}

/** Makes the cookies for an address: `__Host-` and Secure, unless it is http on loopback. */
export function cookiesFor(origin: string): Cookies {
	const isSecure = origin.startsWith("https:");
	const named = (name: string) => (isSecure ? `__Host-${name}` : name);
	const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
	const read = (name: string, header = "") => {
		const start = `${named(name)}=`;
		const found = header.split(/; */).filter((one) => one.startsWith(start));
		return found.length === 1 ? found[0]?.slice(start.length) : undefined;
	};
	return {
		read: (header) => read(SESSION, header),
		begin: (token) => `${named(SESSION)}=${token}; ${attributes}`,
		end: () => `${named(SESSION)}=; Max-Age=0; ${attributes}`,
		forget: (mark) => `${named(SEEN)}=${mark}; ${attributes}`,
		readLogin: (header) => read(LOGIN, header),
		beginLogin: (value) => `${named(LOGIN)}=${value}; Max-Age=${LOGIN_SECONDS}; ${attributes}`,
		endLogin: () => `${named(LOGIN)}=; Max-Age=0; ${attributes}`,
		readPasskey: (header) => read(PASSKEY, header),
		beginPasskey: (value) => `${named(PASSKEY)}=${value}; Max-Age=${PASSKEY_SECONDS}; ${attributes}`,
		endPasskey: () => `${named(PASSKEY)}=; Max-Age=0; ${attributes}`,
	};
}
