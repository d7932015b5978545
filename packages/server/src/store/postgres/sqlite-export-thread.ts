import { workerData } from "node:worker_threads";
import { answerQuestions } from "../../threads/answer-questions.ts";
import { codeOf } from "../sqlite/failure.ts";
import type { Address } from "./address.ts";
import { harmless } from "./failure.ts";
import { copyToSqlite } from "./sqlite-copy.ts";

/** The store that the thread exports, and the instant of the export, ISO 8601 UTC. */
export interface ExportInput {
	address: Address;
	now: string;
}

/** Reason why an export failed; null when it succeeded. */
export type ExportAnswer = { message: string; code: string } | null;

const { address, now } = workerData as ExportInput;

answerQuestions(async (file: string): Promise<ExportAnswer> => {
	try {
		await copyToSqlite(address, file, now);
		return null;
	} catch (error) {
		return { message: harmless(error).message, code: codeOf(error) };
	}
});
