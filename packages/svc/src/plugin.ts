/** The engines that come with svc. Each import is spelled out, so that a bundler finds it. */
const BUILT_IN: Record<string, () => Promise<{ run(process: NodeJS.Process): Promise<void> }>> = {
	containerorch: () => import("@svc/plugin-containerorch"),
	documentdb: () => import("@svc/plugin-documentdb"),
	keyvalue: () => import("@svc/plugin-keyvalue"),
	pki: () => import("@svc/plugin-pki"),
	totp: () => import("@svc/plugin-totp"),
};

/**
 * Runs a built-in engine in this process: it answers requests from standard input until that ends. The server starts its engines this way.
 * @param args the words after `svc plugin`: the engine's type
 */
export async function runPlugin(process: NodeJS.Process, args: readonly string[]): Promise<void> {
	const [type = "", ...more] = args;
	const load = Object.hasOwn(BUILT_IN, type) ? BUILT_IN[type] : undefined;
	if (load === undefined || more.length > 0) {
		process.stderr.write(`svc: svc plugin takes one of the built-in engines: ${Object.keys(BUILT_IN).join(", ")}\n`);
		process.exitCode = 2;
		return;
	}
	const { run } = await load();
	await run(process);
}
