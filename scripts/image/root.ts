import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../binary/bundle.ts";
import type { Executable } from "../binary/executable.ts";
import { librariesOf } from "../binary/libraries.ts";
import { licencesOf } from "../binary/licences.ts";

/** The user of the image: nobody's number on a usual system. */
export const USER = 65532;

/** The only folder that the user may write to. */
export const DATA = "/data";

/** The binary. */
export const BINARY = "/usr/local/bin/svc";

const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const ACCOUNTS = {
	"/etc/passwd": `root:x:0:0:root:/:/sbin/nologin\nsvc:x:${USER}:${USER}:svc:${DATA}:/sbin/nologin\n`,
	"/etc/group": `root:x:0:\nsvc:x:${USER}:\n`,
};

/**
 * Fills the folder with the files of the image, without its data folder: the binary and its native libraries, the system's libraries and certificates,
 * the user, and the licences.
 * @throws Error when this machine has no certificates
 */
export function fillRoot({ file, packages, addons }: Executable, folder: string): void {
	if (!existsSync(CERTIFICATES))
		throw new Error(`${CERTIFICATES} is missing: install it (Debian: apt-get install ca-certificates)`);
	const copy = (from: string, to: string, mode: number) => {
		const target = prepared(folder, to);
		copyFileSync(from, target);
		chmodSync(target, mode);
	};
	const write = (path: string, content: string) => writeFileSync(prepared(folder, path), content, { mode: 0o644 });
	copy(file, BINARY, 0o755);
	for (const [name, addon] of Object.entries(addons)) copy(addon, `/usr/local/lib/svc/${name}`, 0o555);
	for (const library of librariesOf(file)) copy(library, library, 0o755);
	copy(CERTIFICATES, CERTIFICATES, 0o644);
	for (const [path, content] of Object.entries(ACCOUNTS)) write(path, content);
	copy(join(ROOT, "LICENSE"), "/usr/share/doc/svc/LICENSE", 0o644);
	write("/usr/share/doc/svc/THIRD-PARTY-LICENSES", licencesOf(packages));
}

function prepared(folder: string, path: string): string {
	const target = join(folder, path);
	mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
	return target;
}
