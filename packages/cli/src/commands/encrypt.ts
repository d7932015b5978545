import type { Command } from "commander";
import { text } from "../client/answer.ts";
import { send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { addCommand, type Context } from "../command-line/command.ts";
import { readValue, VALUE_HELP, VALUE_OPTIONS, type ValueOptions } from "../input/value.ts";
import type { Io } from "../io/io.ts";
import { show, visible } from "../io/output.ts";

/** Adds the command that encrypts a value. */
export function addEncryptCommand(program: Command, io: Io): void {
	addCommand<ValueOptions>(program, io, {
		usage: "encrypt [value]",
		summary: "encrypt a value; `svc secret set --pre-encrypted` stores the result",
		details: VALUE_HELP,
		options: VALUE_OPTIONS,
		examples: ["svc encrypt", "svc encrypt --from-file key.pem > key.svc"],
		run: encrypt,
	});
}

/** Spec: API › Secrets and encryption. */
async function encrypt(context: Context<ValueOptions>, given?: string): Promise<void> {
	const client = await connect(context);
	const value = await readValue(context, given);
	const answer = await send(client, { method: "POST", path: "encrypt", body: { value } });
	await show(context, answer, visible(text(answer, "ciphertext")));
}
