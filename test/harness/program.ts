import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** The way to start `svc`: a program, and the arguments before the words of a command. */
export interface Program {
	readonly file: string;
	readonly arguments: readonly string[];
	/** Variables that the server and local commands need besides their own. */
	readonly environment: Readonly<Record<string, string>>;
}

/** Flags for a test's own program: it takes what Node made of the sources at an earlier run. */
export const CACHED = ["--import", fileURLToPath(new URL("../../scripts/test/compile-cache.mjs", import.meta.url))];

const FROM_SOURCE: Program = {
	file: process.execPath,
	arguments: [fileURLToPath(new URL("../../packages/svc/src/bin.mjs", import.meta.url))],
	environment: {},
};

// biome-ignore lint/style/noProcessEnv: which program the test run is about
const binary = process.env.SVC_TEST_BINARY;

/** The program under test: svc from source, or the single binary that SVC_TEST_BINARY names, which unpacks its native libraries next to itself, once. */
export const PROGRAM: Program = binary === undefined ? FROM_SOURCE : singleBinary(binary);

function singleBinary(file: string): Program {
	return { file, arguments: [], environment: { XDG_CACHE_HOME: join(dirname(file), "cache") } };
}
