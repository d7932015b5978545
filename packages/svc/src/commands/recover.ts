import type { Context, LocalCommand } from "@svc/cli/command";
import { option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { isInteractive } from "@svc/cli/io";
import { note, show, visible } from "@svc/cli/output";
import { withQuestion } from "@svc/cli/progress";
import { confirm } from "@svc/cli/prompt";
import type { Recoverable, Recovered } from "@svc/server/offline";
import { explainBackup } from "./backup-verify.ts";

interface RecoverOptions {
	readonly yes?: boolean;
	readonly dropSecondFactor?: boolean;
}

/** `svc recover`: the way back in when no instance admin can sign in, while no server runs. */
export const RECOVER: LocalCommand<RecoverOptions> = {
	usage: "recover <email>",
	summary: "make a reset code for an instance admin who cannot sign in; stop the server first",
	details:
		"It enables the account if it is disabled, and gives an account that signs in only at a provider its first password through the code. When no enabled instance admin is left, it does this for any account and makes it an instance admin. svc shows which database it found and asks. The audit log records it. Run it as the server's user, with the server's settings and its master key; then start the server, and set a password with `svc reset`. If svc is interrupted, run it again: a new code ends an earlier one.",
	options: [
		option(
			"--drop-second-factor",
			"also end its second factors, recovery codes, password and sessions, for anybody who lost the factor",
		),
		option("--yes", "do not ask"),
	],
	examples: [
		"svc recover ada@example.com",
		"svc recover ada@example.com --drop-second-factor",
		"svc recover ada@example.com --yes",
	],
	run: recover,
};

async function recover(context: Context<RecoverOptions>, email: string): Promise<void> {
	const { io, options } = context;
	if (options.yes !== true && !isInteractive(io))
		throw new Failure("usage", "recovering an account needs --yes where nobody can be asked");
	process.umask(0o077);
	const { readConfig, recoverAccount } = await import("@svc/server/offline");
	const config = readConfig(io.env, io.cwd());
	const wanted = { email, drop_factors: options.dropSecondFactor === true };
	const recovered = await withQuestion(
		context,
		["checking the database", "making the code"],
		(asked) => recoverAccount(config, wanted, asked),
		async (found: Recoverable) => {
			for (const line of describe(found)) await note(context, visible(line));
			return options.yes === true || confirm(io, visible(`Make a reset code for ${found.account.email}?`));
		},
	).catch(explainBackup);
	if (recovered === undefined) throw new Failure("failed", "nothing was changed");
	await show(context, recovered, recovered.code);
	for (const line of tell(recovered)) await note(context, visible(line));
}

function* describe({ place, fingerprint, accounts, account }: Recoverable): Generator<string> {
	yield `database     ${place}`;
	yield `master key   ${fingerprint}`;
	yield `accounts     ${accounts}`;
	const standing = [account.instance_admin ? "instance admin" : "", account.disabled_at === null ? "" : "disabled"];
	const words = standing.filter((word) => word !== "").join(", ");
	yield `account      ${account.email}${words === "" ? "" : `, ${words}`}`;
}

function* tell({
	email,
	expires_at,
	enabled,
	made_admin,
	had_password,
	factors_dropped,
}: Recovered): Generator<string> {
	if (enabled) yield `${email} is enabled again`;
	if (made_admin) yield `${email} is an instance admin now`;
	if (factors_dropped !== undefined)
		yield `second factors ended: ${factors_dropped}, with the password and all sessions`;
	else if (!had_password) yield `${email} has no password yet: the code sets the first`;
	yield `next: start the server, then \`svc reset ${email}\` with this code, once, until ${expires_at}`;
}
