import { type Answer, object, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { findUser } from "../client/find-user.ts";
import { type CommandSpec, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { showFields } from "../io/output.ts";

interface LimitOptions {
	readonly realmBytes?: string;
	readonly realms?: string;
}

const UNIT_BYTES: Readonly<Record<string, number>> = { "": 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Shows or sets an account's limits, which override the server's settings. */
export const USERS_LIMITS: CommandSpec<LimitOptions> = {
	usage: "limits <user>",
	summary: "show or change how much an account may store",
	details:
		"Only for the instance's administrators. A user is named by id or e-mail. A limit that you do not name keeps its value; `default` means the server's settings (limits.realm_bytes, limits.realms_per_account).",
	options: [
		option(
			"--realm-bytes <size>",
			"limit of each of the user's realms, including history: bytes, or 256MiB, 1GiB, default",
		),
		option("--realms <count>", "how many realms they may own, deleted ones included until they are purged, or default"),
	],
	examples: [
		"svc users limits ada@example.com",
		"svc users limits ada@example.com --realm-bytes 256MiB --realms default",
	],
	run: userLimits,
};

async function userLimits(context: Context<LimitOptions>, name: string): Promise<void> {
	const { realmBytes, realms } = context.options;
	const changes = {
		...(realmBytes === undefined ? {} : { realm_bytes: parseSize(realmBytes) }),
		...(realms === undefined ? {} : { realms: parseCount(realms) }),
	};
	const client = await connect(context);
	const user = await findUser(client, name);
	const before = object(user, "limits");
	const body = { realm_bytes: before.realm_bytes, realms: before.realms, ...changes };
	const isChange = Object.keys(changes).length > 0;
	const limits = isChange
		? await send(client, { method: "PUT", path: path`users/${text(user, "id")}/limits`, body })
		: before;
	await showFields(context, limits, limitFields(limits));
}

/** The lines that show an account's limits. */
export function limitFields(limits: Answer): [string, string][] {
	return [
		["realm bytes", describe(limits.realm_bytes)],
		["realms", describe(limits.realms)],
	];
}

function describe(limit: unknown): string {
	return typeof limit === "number" ? String(limit) : "default";
}

function parseSize(written: string): number | null {
	if (written === "default") return null;
	const [, number, unit = ""] = /^(\d{1,13})(KiB|MiB|GiB)?$/.exec(written) ?? [];
	if (number === undefined)
		throw new Failure("usage", "--realm-bytes takes a size such as 67108864, 256MiB, 1GiB, or default");
	return Number(number) * (UNIT_BYTES[unit] ?? 1);
}

function parseCount(written: string): number | null {
	if (written === "default") return null;
	if (!/^\d{1,7}$/.test(written)) throw new Failure("usage", "--realms takes a number, or default");
	return Number(written);
}
