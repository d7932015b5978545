import {
	type DescribeData,
	DescriptorError,
	disagreement,
	engineCapabilities,
	isObject,
	parseDescribeData,
} from "@svc/protocol";
import { type Case, expectData, expectError, expectLife, revoke } from "./case.ts";
import type { Conversation } from "./conversation.ts";
import { Finding } from "./finding.ts";

/** The case that all others depend on. */
export const DESCRIBE: Case = {
	name: "describe answers in time and agrees with plugin.json",
	async run(engine, descriptor) {
		const remedy = "answer describe with name, version, display_name, description and capabilities as in plugin.json";
		const data = expectData(await engine.ask("describe"), "describe", remedy);
		const difference = disagreement(descriptor, readDescribeData(data, remedy));
		if (difference !== undefined) throw new Finding(difference, remedy);
	},
};

function readDescribeData(data: unknown, remedy: string): DescribeData {
	try {
		return parseDescribeData(data);
	} catch (error) {
		if (error instanceof DescriptorError) throw new Finding(error.message, remedy);
		throw error;
	}
}

/** Cases for the methods besides the engine's purpose. */
export const METHOD_CASES: readonly Case[] = [
	{
		name: "ping answers that the engine is healthy, or with an error that says why it is not",
		async run(engine) {
			const response = await engine.ask("ping");
			if ("data" in response && response.data.status !== "healthy") {
				throw new Finding(
					"ping is answered with data whose status is not healthy",
					"answer {data: {status: healthy}}, or an error that says what is wrong",
				);
			}
		},
	},
	{
		name: "an unknown method is answered with an error",
		async run(engine) {
			expectError(await engine.ask("fly"), "an unknown method", "answer an error for every method that is not known");
			await expectLife(engine, "an unknown method");
		},
	},
	{
		name: "params that are no object are answered with an error",
		async run(engine) {
			for (const params of [[], ["a"], "a", 5, true]) {
				expectError(
					await engine.ask("generate", params),
					"generate with params that are no object",
					"answer an error when params is a list, a string, a number or a boolean",
				);
			}
			await expectLife(engine, "params that are no object");
		},
	},
	{
		name: "params that the engine does not know are ignored",
		async run(engine) {
			const unknown = { unknown_to_every_engine: { a: [1, null] }, _reserved: "for the server" };
			expectData(
				await engine.ask("describe", unknown),
				"describe with params that it does not know",
				"ignore members of params that are not known: newer servers may send more",
			);
			const [without, withUnknown] = [await tryOut(engine, {}), await tryOut(engine, unknown)];
			if (without !== withUnknown) {
				throw new Finding(
					`generate without params is answered with ${without}, with unknown ones with ${withUnknown}`,
					"ignore members of params that are not known: newer servers may send more",
				);
			}
		},
	},
	{
		name: "members named __proto__ or constructor do no harm",
		async run(engine) {
			const before = JSON.stringify(await expectLife(engine, "the start"));
			const harm = '{"name":"harmed","role":"harmed","harmed":true}';
			const params = `{"__proto__":${harm},"constructor":{"prototype":${harm}}}`;
			await revoke(engine, await engine.send(`{"method":"generate","params":${params}}\n`));
			await engine.send(`{"method":"validate","params":${params}}\n`);
			await engine.send(`{"method":"describe","__proto__":${harm},"params":{}}\n`);
			if (JSON.stringify(await expectLife(engine, "a member named __proto__")) === before) return;
			throw new Finding(
				"describe answers something else after a request with a member named __proto__",
				"never copy members of a request one by one into an object that was there before",
			);
		},
	},
	{
		name: "generate without params is answered, and so is validate with what it made",
		async run(engine) {
			await tryOut(engine, {});
			await expectLife(engine, "generate and validate");
		},
	},
	{
		name: "validate is answered for what the engine never made",
		async run(engine) {
			const nonsense = { unknown_to_every_engine: "nonsense", username: "nonsense", certificate: "nonsense" };
			for (const params of [{}, nonsense, { username: 5, certificate: [] }]) await engine.ask("validate", params);
			await expectLife(engine, "validate of nonsense");
		},
	},
	{
		name: "list answers the managed names, or with an error",
		async run(engine, descriptor) {
			const response = await engine.ask("list");
			if ("error" in response) return;
			const { names } = response.data;
			if (Array.isArray(names) && names.every((name) => typeof name === "string")) return;
			const what = engineCapabilities(descriptor).includes("list")
				? ""
				: ", though plugin.json does not declare engine:list";
			throw new Finding(
				`list is answered with data whose names are no list of strings${what}`,
				"answer {data: {names: a list of strings}}, or an error when the engine cannot list",
			);
		},
	},
	{
		name: "privileges answers what is needed at the target, or with an error",
		async run(engine) {
			const response = await engine.ask("privileges", { places: [] });
			if ("error" in response || areRights(response.data.privileges)) return;
			throw new Finding(
				"privileges is answered with data whose privileges are no list of name, status, message and hint",
				"answer {data: {privileges: a list}} as the contract has it, or an error when the engine cannot tell",
			);
		},
	},
];

function areRights(given: unknown): boolean {
	const isText = (value: unknown) => typeof value === "string" && value.length <= 500;
	return (
		Array.isArray(given) &&
		given.length <= 1000 &&
		given.every(
			(right) =>
				isObject(right) &&
				[right.name, right.message, right.hint].every(isText) &&
				["granted", "missing", "doubtful"].includes(String(right.status)),
		)
	);
}

/** Makes something and revokes it. @returns generate's kind of answer */
async function tryOut(engine: Conversation, params: object): Promise<"data" | "an error"> {
	const made = await engine.ask("generate", params);
	await revoke(engine, made);
	return "data" in made ? "data" : "an error";
}
