import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Paths of the system libraries that the binary is linked with, and of one that only a library in it needs. */
export function librariesOf(binary: string): string[] {
	const listed = execFileSync("ldd", [binary], { encoding: "utf8" });
	const paths = [...listed.matchAll(/(?:=> |^\s*)(\/\S+)/gm)].map(([, path = ""]) => path);
	const glibc = paths.find((path) => path.endsWith("/libc.so.6")) ?? "";
	return [...paths, join(dirname(glibc), "librt.so.1")].filter((path) => existsSync(path));
}
