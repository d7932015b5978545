import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EngineWorld, eventually, startEngineWorld } from "../../harness/engine-world.ts";
import { ok } from "../../harness/expect.ts";
import { allLeases } from "./oracle.ts";
import { isFault, type Point } from "./points.ts";
import type { Target } from "./target.ts";

const PROGRAM = "test/engines/crash/serve.ts";

/** A request that died with the server. */
export interface Death {
	/** Returns the id of the request's lease; undefined when none was written. Call it only when the server runs again. */
	lease(): Promise<string | undefined>;
	/** Releases the request that the target holds. */
	release(): Promise<void>;
}

/** A server that dies at the ordered step, and a target. */
export interface Scene {
	readonly world: EngineWorld;
	readonly target: Target;
	/** Makes a credential; returns its name and the id of its lease. */
	make(where?: string): Promise<{ name: string; id: string }>;
	/** Gives the server an order that stays until the next one. An empty order clears it. */
	order(order: string): Promise<void>;
	/** Waits until the server holds at that step. */
	held(step: string): Promise<void>;
	/** Makes a request die at that point. */
	die(point: Point): Promise<Death>;
	/** Sends the request, which makes the server kill itself at the step. */
	dieAt(step: string, ask: () => Promise<unknown>): Promise<void>;
	/** Starts the server and makes its recovery die at that step. */
	dieAgain(step: string): Promise<void>;
	/** Starts the server without an order. */
	restart(env?: Readonly<Record<string, string>>): Promise<void>;
	close(): Promise<void>;
}

/** Starts the server and configures the engine. */
export async function startScene(target: Target): Promise<Scene> {
	const folder = await mkdtemp(join(tmpdir(), "svc-order-"));
	const file = join(folder, "order");
	const order = async (text: string) => {
		// The server may read the file at any time, and must never find it empty.
		await writeFile(`${file}.new`, text);
		await rename(`${file}.new`, file);
	};
	await order("");
	// The tests start the server some sixty times: the cache spares Node from compiling each time.
	const env = { SVC_TEST_ORDER: file, NODE_COMPILE_CACHE: join(folder, "compiled") };
	const world = await startEngineWorld({ program: PROGRAM, env });
	const { server } = world;
	let heard = 0;
	const scene: Scene = {
		world,
		target,
		async order(text) {
			heard = server.stdout().length;
			await order(text);
		},
		async make(where) {
			const answer = await world.generate<object>(target.type, target.params, where);
			ok(answer);
			return await world.leaseOf(answer, where);
		},
		held: (step) => eventually(`it holds ${step}`, () => server.stdout().slice(heard) === `held ${step}\n`),
		die: (point) => die(scene, point),
		async dieAt(step, ask) {
			await order(`kill ${step}`);
			const [, signal] = await Promise.all([assert.rejects(ask()), server.ended()]);
			assert.equal(signal, "SIGKILL");
		},
		async dieAgain(step) {
			await order(`kill ${step}`);
			// The server may die before it listens.
			await server.restart().then(server.ended, () => undefined);
			assert.match(server.stdout(), new RegExp(`killed ${step}\\n(listening.*\\n)?$`));
		},
		async restart(env) {
			await order("");
			await server.restart(env);
		},
		async close() {
			await world.close();
			await rm(folder, { recursive: true });
		},
	};
	try {
		assert.equal(ok(await world.configure(target.type, target.configuration)).status, "healthy");
		return scene;
	} catch (error) {
		await scene.close();
		throw error;
	}
}

async function die({ world, target, make, dieAt }: Scene, { request, at }: Point): Promise<Death> {
	const made = request === "validate" ? await make() : undefined;
	const known = (await allLeases(world)).map(({ id }) => id);
	const ask = () =>
		made === undefined
			? world.generate(target.type, target.params)
			: world.validate(target.type, target.revoking(made.name));
	const lease = async () => made?.id ?? (await allLeases(world)).find(({ id }) => !known.includes(id))?.id;
	if (!isFault(at)) {
		await dieAt(at, ask);
		return { lease, release: async () => undefined };
	}
	const { struck, release } = await target.strike(at);
	const answer = assert.rejects(ask());
	await struck;
	await world.server.kill("SIGKILL");
	await answer;
	return { lease, release };
}
