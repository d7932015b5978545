import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Context, type LocalCommand, option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { note, show, visible } from "@svc/cli/output";
import { shellWord } from "@svc/cli/shell-line";
import { LANGUAGES, type Language, scaffold } from "./engine-scaffold.ts";

interface NewOptions {
	readonly lang: Language;
	readonly dir?: string;
}

const NAME = /^[a-z][a-z0-9-]{0,39}$/;

/** `svc engine new`: a small working engine, to be changed into your own. */
export const ENGINE_NEW: LocalCommand<NewOptions> = {
	group: "engine",
	usage: "new <name>",
	summary: "create a folder with a small working engine to start from",
	details:
		"Writes plugin.json, a program that creates and checks voucher numbers, and a README with the next steps. The program is one file that needs only its language, and already meets the contract of engines.",
	options: [
		option("--lang <language>", "language of the program").choices(Object.keys(LANGUAGES)).makeOptionMandatory(),
		option("--dir <folder>", "folder to create (else ./<name>)"),
	],
	examples: ["svc engine new voucher --lang python", "svc engine new voucher --lang go --dir ~/engines/voucher"],
	run: makeFolder,
};

async function makeFolder(context: Context<NewOptions>, name: string): Promise<void> {
	const { io, options } = context;
	if (!NAME.test(name))
		throw new Failure("usage", "a name has 1 to 40 of a-z, 0-9 and -, and begins with a letter", {
			hint: "use the engine's type, as in `svc engine generate <type>`",
		});
	const folder = options.dir ?? name;
	const directory = resolve(io.cwd(), folder);
	const files = scaffold(name, options.lang);
	const made = mkdirSync(directory, { recursive: true });
	if (readdirSync(directory).length > 0)
		throw new Failure("failed", "the folder is not empty; nothing was written", { hint: "name another with --dir" });
	try {
		for (const { file, content, isProgram } of files)
			writeFileSync(join(directory, file), content, { mode: isProgram ? 0o755 : 0o644, flag: "wx" });
	} catch (error) {
		const paths = made === undefined ? files.map(({ file }) => join(directory, file)) : [made];
		for (const path of paths) rmSync(path, { recursive: true, force: true });
		throw error;
	}
	const names = files.map(({ file }) => file);
	await show(
		context,
		{ name, language: options.lang, directory, files: names },
		visible(`${folder}: ${names.join(", ")}`),
	);
	const { build } = LANGUAGES[options.lang];
	const steps = [`cd ${shellWord(folder)}`, ...(build === undefined ? [] : [build]), "svc engine test ."];
	await note(context, visible(`next: ${steps.join(" && ")}; README.md says how to go on`));
}
