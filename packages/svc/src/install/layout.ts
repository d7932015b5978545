import { join } from "node:path";
import { Failure } from "@svc/cli/failure";

/** Location of an installation. */
export interface Location {
	/** Folder that stands for `/`; absent for this machine. */
	readonly root?: string;
	/** Folder whose `bin` gets the program. */
	readonly prefix: string;
	/** The account that the server runs as. */
	readonly user: string;
}

/** Paths of an installation, as the installed machine sees them. */
export interface Layout extends Location {
	readonly program: string;
	readonly unit: string;
	/** Tells systemd-sysusers about the account. */
	readonly account: string;
	readonly settings_dir: string;
	readonly settings: string;
	/** The master key, encrypted for this machine alone. */
	readonly sealed_key: string;
	/** The master key unencrypted, where systemd cannot encrypt it. */
	readonly plain_key: string;
	readonly data_dir: string;
	/** The same path under the root. */
	at(path: string): string;
}

/** Paths go into a unit, where a blank, a quotation mark or a percent sign would mean something. */
const PATH = /^(\/[A-Za-z0-9_][A-Za-z0-9._-]*)+$/;
/** Folders that the unit hides from the server, by ProtectHome and PrivateTmp: a program there could not start. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)(\/|$)/;
const USER = /^[a-z_][a-z0-9_-]{0,30}$/;

/** @throws Failure usage when the prefix or the account's name cannot be written into a unit */
export function layoutOf(location: Location): Layout {
	if (!PATH.test(location.prefix))
		throw new Failure("usage", "--prefix takes an absolute path of letters, digits, dots, hyphens and underscores");
	if (HIDDEN.test(location.prefix))
		throw new Failure("usage", "the service cannot read /home, /root, /run/user, /tmp and /var/tmp", {
			hint: "name another folder with --prefix, such as /opt/svc",
		});
	if (!USER.test(location.user) || location.user === "root")
		throw new Failure("usage", "--user takes the name of an account other than root, such as svc");
	return {
		...location,
		program: join(location.prefix, "bin/svc"),
		unit: "/etc/systemd/system/svc.service",
		account: "/etc/sysusers.d/svc.conf",
		settings_dir: "/etc/svc",
		settings: "/etc/svc/svc.toml",
		sealed_key: "/etc/svc/master-key.cred",
		plain_key: "/etc/svc/master-key",
		data_dir: "/var/lib/svc",
		at: (path) => (location.root === undefined ? path : join(location.root, path)),
	};
}
