import { lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { Failure } from "@svc/cli/failure";
import { visible } from "@svc/cli/output";

const ROOT = 0;

/**
 * Works in a folder as the account that could have prepared it: root's work in the data directory of the service's account goes only where that
 * account may write, whatever links lie there. Other users work as they are.
 * @throws Failure when that account is not allowed to
 */
export function asOwnerOf<T>(folder: string, work: () => T): T {
	const owner = process.geteuid?.() === ROOT ? foreignOwner(folder) : undefined;
	if (owner === undefined) return work();
	try {
		return as(owner, work);
	} catch (error) {
		const { code = "", path = folder } = error as NodeJS.ErrnoException;
		if (!/^(EACCES|EPERM)$/.test(code)) throw error;
		throw new Failure("denied", visible(`${path} may not be changed by its folder's owner, uid ${owner.uid}`), {
			hint: visible(`look at what lies there; if it belongs there: chown -hR ${owner.uid}:${owner.gid} ${folder}`),
			cause: error,
		});
	}
}

/** @returns the first folder on the way from the root that is not root's: its owner may own everything below it */
function foreignOwner(path: string): Stats | undefined {
	const above = path === "/" ? undefined : foreignOwner(dirname(path));
	if (above !== undefined) return above;
	const stat = lstatSync(path, { throwIfNoEntry: false });
	if (stat === undefined || stat.uid !== ROOT) return stat;
	return stat.isSymbolicLink() ? foreignOwner(resolve(realpathSync(dirname(path)), readlinkSync(path))) : undefined;
}

function as<T>({ uid, gid }: Stats, work: () => T): T {
	const groups = process.getgroups?.() ?? [];
	process.setgroups?.([gid]);
	process.setegid?.(gid);
	process.seteuid?.(uid);
	try {
		return work();
	} finally {
		process.seteuid?.(ROOT);
		process.setegid?.(ROOT);
		process.setgroups?.(groups);
	}
}
