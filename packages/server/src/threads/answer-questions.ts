import { parentPort } from "node:worker_threads";

/** Answers a ThreadPool's questions in this thread, one after the other, once it is ready for them. An error ends the thread, and the asker learns of that. */
export function answerQuestions<Question, Answer>(answer: (question: Question) => Answer | Promise<Answer>): void {
	parentPort?.on("message", async (question: Question) => parentPort?.postMessage(await answer(question)));
	parentPort?.postMessage("ready");
}
