import { MAX_REQUEST_BYTES } from "@svc/protocol";
import { type Case, expectData, expectError, expectLife, revoke } from "./case.ts";
import { Finding } from "./finding.ts";

/** Requests that one process answers here. */
const MANY = 50;

/** Makes a request of exactly this many bytes, not counting the line feed. */
function requestOf(bytes: number): string {
	const [start, end] = ['{"method":"describe","params":{"padding":"', '"}}'];
	return `${start}${"x".repeat(bytes - start.length - end.length)}${end}\n`;
}

/** Cases about the transport of requests and responses. */
export const FRAMING_CASES: readonly Case[] = [
	{
		name: "each request is answered with one line, and nothing else is written to standard output",
		async run(engine) {
			for (const method of ["describe", "ping", "fly", "describe"]) await engine.ask(method);
			await engine.finish();
		},
	},
	{
		name: "a line that is no JSON is answered with an error",
		async run(engine) {
			for (const line of [
				"nonsense\n",
				'{"method":"describe"\n',
				'{"method":"describe","params":{}}}\n',
				'"describe"\n',
			]) {
				expectError(
					await engine.send(line),
					"a line that is no JSON object",
					"answer an error when a line cannot be parsed or is no object",
				);
			}
			await expectLife(engine, "a line that is no JSON");
		},
	},
	{
		name: "a request that arrives in pieces is answered once it is whole",
		async run(engine) {
			const remedy = "collect what comes until the line feed; one read may give half a line";
			// An engine that is still starting would find all pieces at once.
			await engine.ask("describe");
			const response = await engine.send('{"method":"desc', 'ribe","par', 'ams":{}}\n');
			expectData(response, "describe in three pieces", remedy);
		},
	},
	{
		name: "a request of 256 KiB is answered",
		async run(engine) {
			const remedy = "read lines of up to 256 KiB";
			expectData(await engine.send(requestOf(MAX_REQUEST_BYTES)), "describe in 256 KiB", remedy);
			await expectLife(engine, "a request of 256 KiB");
		},
	},
	{
		name: "an error has at most 8 KiB, whatever was sent",
		async run(engine) {
			const long = "x".repeat(MAX_REQUEST_BYTES / 4);
			await engine.ask(long);
			await revoke(engine, await engine.ask("generate", { role: long, ttl: long }));
			await engine.ask("validate", { username: long, certificate: long });
			await expectLife(engine, "long params");
		},
	},
	{
		name: "many requests are answered one after the other, each with its own response",
		async run(engine) {
			for (let count = 0; count < MANY && !engine.isOneShot; count++) {
				const isKnown = count % 3 !== 0;
				const response = await engine.ask(isKnown ? "describe" : "fly");
				if ("data" in response === isKnown) continue;
				throw new Finding(
					`request ${count + 1} of one process is answered as if it were another`,
					"answer requests in the order in which they come, and keep nothing from one to the next",
				);
			}
		},
	},
	{
		name: "a request is answered also when the input ends right after it",
		async run(engine) {
			await engine.finish(requestOf(100));
		},
	},
	{
		name: "the end of the input ends the engine within 2 s",
		async run(engine) {
			await engine.finish();
		},
	},
];
