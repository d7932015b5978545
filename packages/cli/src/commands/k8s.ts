import type { Command } from "commander";
import { connectForEngine } from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { lifetimesInHours } from "../input/duration.ts";
import { REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import { environmentFor } from "../io/environment.ts";
import type { Io } from "../io/io.ts";
import { writeKubeconfig } from "../run/kubeconfig-file.ts";
import { codeOf, runProgram } from "../run/program.ts";
import { withCredential } from "../run/with-credential.ts";

interface KubernetesOptions extends RealmOptions {
	readonly role: string;
	readonly namespace?: string;
	readonly ttl?: string;
}

const DETAILS = `The engine containerorch creates a service account for as long as the program runs. KUBECONFIG names its configuration, in a folder that only you can read and that svc deletes afterwards. The account is deleted when the program ends, however it ends; if svc itself is killed, at the end of its ttl.
Signals, exit code and environment are the same as for \`svc run\`.`;

/** Adds the command that runs a program as a Kubernetes service account. */
export function addKubernetesCommand(program: Command, io: Io): void {
	addCommand<KubernetesOptions>(program, io, {
		usage: "k8s <command...>",
		summary: "run a program, such as kubectl, with a Kubernetes service account that lives as long as the program",
		details: DETAILS,
		runsProgram: true,
		options: [
			REALM_OPTION,
			option("--role <role>", "viewer, editor or admin").default("viewer"),
			option("--namespace <name>", "namespace of the account; by default the one of the engine's configuration"),
			option("--ttl <duration>", "longest life of the account, at least 10m"),
		],
		examples: [
			"svc k8s --realm shop -- kubectl get pods",
			"svc k8s --realm shop --role editor --namespace apps -- helm upgrade shop ./chart",
		],
		run: runWithAccount,
	});
}

async function runWithAccount(context: Context<KubernetesOptions>, command = "", ...args: string[]): Promise<number> {
	const { io, options } = context;
	const { role, namespace, ttl } = options;
	const params = lifetimesInHours({
		role,
		...(namespace === undefined ? {} : { namespace }),
		...(ttl === undefined ? {} : { ttl }),
	});
	const wanted = { realm: realmOf(context), type: "containerorch", params };
	const ended = await withCredential(context, await connectForEngine(context), wanted, async (made) => {
		await using file = await writeKubeconfig(io, made);
		const kubeconfig = { name: "KUBECONFIG", value: file.path, source: "svc k8s" };
		// Awaited here, because the file lasts only as long as this function.
		return await runProgram(io, { command, args, env: environmentFor(io, [kubeconfig]) });
	});
	return codeOf(ended);
}
