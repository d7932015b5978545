import { lstat } from "node:fs/promises";
import type { Command } from "commander";
import { text } from "../client/answer.ts";
import { type Client, path } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { listAll } from "../client/pages.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { notFound } from "../command-line/not-found.ts";
import { Failure } from "../failure.ts";
import { type Entry, EXPORT_FORMATS, problemsOf, type SecretName } from "../formats/export-formats.ts";
import { checkName, checkNamespace } from "../input/kubernetes-name.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../input/realm-scope.ts";
import { type Io, write } from "../io/io.ts";
import { show, visible } from "../io/output.ts";
import { writePrivateFile } from "../io/private-file.ts";
import { type Report, withProgress } from "../io/progress.ts";
import { refuseReserved } from "../run/variables.ts";

interface ExportOptions extends EnvironmentOptions {
	readonly format?: string;
	readonly name?: string;
	readonly namespace?: string;
	readonly output?: string;
	readonly force?: boolean;
	readonly allowReserved?: boolean;
}

const NAMES = Object.keys(EXPORT_FORMATS);

const DETAILS = `Without keys, all secrets of the environment. If the format cannot hold one of them exactly, nothing is written, and the message names the secret and the formats that can.
dotenv   a .env file, as \`svc import\` reads it
shell    lines for eval
json     an object of texts
yaml     a mapping of texts
k8s      a Secret of Kubernetes
systemd  a file for EnvironmentFile=
docker   a file for docker run --env-file`;

/** Adds the command that exports the secrets of an environment. */
export function addExportCommand(program: Command, io: Io): void {
	addCommand<ExportOptions>(program, io, {
		usage: "export [keys...]",
		summary: "print the secrets of an environment with their values, in a format of your choice",
		details: DETAILS,
		options: [
			...ENVIRONMENT_OPTIONS,
			option("--format <format>", `one of ${NAMES.join(", ")}; dotenv by default`).choices(NAMES),
			option("--output <file>", "write it to a new file that only you can read"),
			option("--force", "replace the file of --output"),
			option(
				"--allow-reserved",
				"also write variables such as PATH and NODE_OPTIONS, which decide what runs (shell, systemd, docker)",
			),
			option("--name <name>", "name of the Secret (k8s); realm and environment by default"),
			option("--namespace <name>", "namespace of the Secret (k8s)"),
		],
		examples: [
			"svc export --realm shop --env dev --output .env",
			'eval "$(svc export --realm shop --env dev --format shell)"',
			"svc export --realm shop --env prod --format k8s --namespace apps | kubectl apply -f -",
			"svc export TLS_CERT TLS_KEY --realm shop --env prod --format json",
		],
		run: exportSecrets,
	});
}

async function exportSecrets(context: Context<ExportOptions>, ...keys: string[]): Promise<void> {
	const { io, options } = context;
	const [realm, environment] = [realmOf(context), environmentOf(context)];
	const name = options.format ?? (options.json === true && options.output === undefined ? "json" : "dotenv");
	const secret = secretNameOf(options, `${realm}-${environment}`);
	const client = await connect(context);
	const entries = await withProgress(context, "reading secrets", (report) =>
		readEntries(client, realm, environment, report),
	);
	const chosen = choose(entries, keys, `${realm}/${environment}`);
	const content = format(name, chosen, secret, options.allowReserved === true);
	if (options.output === undefined) return write(io.stdout, content);
	await save(options.output, content, options.force === true);
	const document = { realm, environment, format: name, output: options.output, keys: chosen.map(({ key }) => key) };
	await show(
		context,
		document,
		visible(`${chosen.length} secrets of ${realm}/${environment} are in ${options.output}`),
	);
}

async function readEntries(client: Client, realm: string, env: string, report: Report): Promise<Entry[]> {
	const entries: Entry[] = [];
	for await (const row of listAll(client, path`realms/${realm}/secrets`, "secrets", { env })) {
		entries.push({ key: text(row, "key"), value: text(row, "value") });
		report(`${entries.length}`);
	}
	return entries;
}

function secretNameOf({ name, namespace }: ExportOptions, usual: string): SecretName {
	return {
		name: name === undefined ? usual : checkName(name),
		...(namespace === undefined ? {} : { namespace: checkNamespace(namespace) }),
	};
}

function choose(entries: readonly Entry[], keys: readonly string[], within: string): readonly Entry[] {
	if (keys.length === 0) return entries;
	const missing = keys.filter((wanted) => !entries.some(({ key }) => key === wanted));
	if (missing.length === 0) return entries.filter(({ key }) => keys.includes(key));
	const known = entries.map(({ key }) => key);
	throw notFound({ noun: "secret", typed: missing, within, known, hint: "`svc secret list` shows the keys" });
}

function format(name: string, entries: readonly Entry[], secret: SecretName, allowsReserved: boolean): string {
	const chosen = EXPORT_FORMATS[name];
	if (chosen === undefined) throw new Failure("usage", `--format takes ${NAMES.join(", ")}`);
	if (chosen.setsVariables === true && !allowsReserved) {
		const variables = entries.map(({ key }) => ({ name: key, source: key }));
		refuseReserved(variables, "svc export KEY… writes the keys that you name");
	}
	const problems = problemsOf(chosen, entries);
	if (problems.length === 0) return chosen.write(entries, secret);
	const others = Object.entries(EXPORT_FORMATS).filter(([, other]) => problemsOf(other, entries).length === 0);
	throw new Failure("failed", `${name} cannot hold these secrets: ${problems.join("; ")}`, {
		hint: `${others.map(([other]) => other).join(", ")} can; or name the keys that you want: svc export KEY…`,
	});
}

async function save(file: string, content: string, replaces: boolean): Promise<void> {
	const there = await lstat(file).catch(() => undefined);
	if (there !== undefined && !replaces)
		throw new Failure("failed", `${file} already exists`, { hint: "--force replaces it" });
	if (there?.isFile() === false)
		throw new Failure("failed", `${file} is not a regular file, so svc does not replace it`);
	await writePrivateFile(file, content, replaces);
}
