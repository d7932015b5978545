import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type Command, commandsOf, differenceOf } from "./console.ts";
import { fencesOf, filesOf, textOf } from "./markdown.ts";
import { NOT_RUN, PAGES, PASSWORD, type Page, type Surroundings } from "./pages.ts";
import { type Reader, skipWithoutShell, startReader } from "./reader.ts";

const notRun = new Set(Object.values(NOT_RUN).flat());
const NOBODY: Surroundings = { [Symbol.asyncDispose]: async () => undefined };

/** The command's name in the list of commands that are not run. */
const nameOf = ({ text }: Pick<Command, "text">) =>
	(text.split("\n")[0] ?? "").replace(/ +#.*$/, "").replace(/ \\$/, "");

/** Returns the value of the longest prefix of the command in this table. */
function lookUp<T>(table: Readonly<Record<string, T>> | undefined, command: string): T | undefined {
	const names = Object.keys(table ?? {}).filter((name) => command.startsWith(name));
	return table?.[names.sort((a, b) => b.length - a.length)[0] ?? ""];
}

for (const [path, page] of Object.entries(PAGES)) {
	test(`the commands of ${path} do what it says, in their order`, { skip: skipWithoutShell }, async (t) => {
		const missing = (await page.skip?.()) ?? false;
		if (missing !== false) return t.skip(missing);
		await using around = (await page.surround?.()) ?? NOBODY;
		await using reader = await startReader(around.addresses, around.env);
		for (const [name, text] of Object.entries({ ...page.files, ...around.files })) {
			await writeFile(join(reader.home, name), text);
			if (text.startsWith("#!")) await chmod(join(reader.home, name), 0o755);
		}
		await begin(reader, page);
		for (const command of commandsOf(textOf(path))) {
			if (!notRun.has(nameOf(command)))
				await check(reader, path, command, { ...page.answers, ...around.answers }, page);
		}
	});
}

async function begin(reader: Reader, { begins, before = [] }: Page): Promise<void> {
	if (begins === "with nothing") return;
	await reader.serve("npm start");
	const line = `echo '${PASSWORD}'`;
	const init = `${line} | svc init ada@example.com --password-stdin --trust-new-certificate --realm shop`;
	for (const command of [init, ...before]) {
		const { shown, code } = await reader.type(command);
		assert.equal(code, 0, `before the page: ${command}\n${shown}`);
	}
}

async function check(
	reader: Reader,
	path: string,
	command: Command,
	answers: Readonly<Record<string, readonly string[]>>,
	page: Page,
): Promise<void> {
	const where = `${path}:${command.line}: ${command.text}`;
	const { shown, code } = await run(reader, command, lookUp(answers, command.text)).catch((cause) => {
		throw new Error(where, { cause });
	});
	assert.equal(code, lookUp(page.codes, command.text) ?? 0, `${where}\n${shown}`);
	assert.equal(differenceOf(command, shown), undefined, `${where}\n${shown}`);
}

async function run(reader: Reader, command: Command, answers?: readonly string[]) {
	if (nameOf(command) === "npm start") return { shown: await reader.serve(command.text), code: 0 };
	if (nameOf(command) === "sudo systemctl start svc") return { shown: await reader.serve("svc server"), code: 0 };
	if (nameOf(command) !== "sudo systemctl stop svc") return reader.type(command.text, answers);
	await reader.stopServing();
	return { shown: "", code: 0 };
}

test("every command of the pages is run, or listed with the reason why not", () => {
	const commands = filesOf(".md")
		.filter((path) => /^(README\.md|docs\/|SECURITY\.md|CONTRIBUTING\.md|plugins\/)/.test(path))
		.flatMap((path) => {
			const text = textOf(path);
			const typed = commandsOf(text).map((command) => ({ path, name: nameOf(command), isRun: path in PAGES }));
			return [
				...typed,
				...fencesOf(text, "sh").map((script) => ({ path, name: nameOf({ text: script }), isRun: false })),
			];
		});
	const neither = commands.filter(({ name, isRun }) => !isRun && !notRun.has(name));
	assert.deepEqual(neither, []);
	const names = new Set(commands.map(({ name }) => name));
	assert.deepEqual(
		[...notRun].filter((name) => !names.has(name)),
		[],
		"listed, but on no page",
	);
});
