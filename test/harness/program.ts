import process from "node:process";
import { fileURLToPath } from "node:url";

/** The way to start `svc`: a program, and the arguments before the words of a command. */
export interface Program {
	readonly file: string;
	readonly arguments: readonly string[];
}

const FROM_SOURCE: Program = {
	file: process.execPath,
	arguments: [fileURLToPath(new URL("../../packages/svc/src/bin.mjs", import.meta.url))],
};

// biome-ignore lint/style/noProcessEnv: which program the test run is about
const binary = process.env.SVC_TEST_BINARY;

/** The program under test: svc from source, or the single binary that SVC_TEST_BINARY names. */
export const PROGRAM: Program = binary === undefined ? FROM_SOURCE : { file: binary, arguments: [] };
