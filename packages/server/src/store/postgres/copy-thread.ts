import { workerData } from "node:worker_threads";
import { answerQuestions } from "../../threads/answer-questions.ts";
import { codeOf } from "../sqlite/failure.ts";
import type { Address } from "./address.ts";
import { copyStore } from "./copy.ts";
import { harmless } from "./failure.ts";

/** The store that the thread copies, and the instant of the copy, ISO 8601 UTC. */
export interface CopyInput {
	address: Address;
	now: string;
}

/** Reason why a copy was not made; null when it was. */
export type CopyAnswer = { message: string; code: string } | null;

const { address, now } = workerData as CopyInput;

answerQuestions(async (file: string): Promise<CopyAnswer> => {
	try {
		await copyStore(address, file, now);
		return null;
	} catch (error) {
		return { message: harmless(error).message, code: codeOf(error) };
	}
});
