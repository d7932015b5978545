import assert, { AssertionError } from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Random, seededRandom } from "../../faults/random.ts";
import { type Answer, type Api, api } from "../../harness/client.ts";
import type { Credential, KeyValueWorld } from "./keyvalue-world.ts";

/** A credential that a client received. */
export interface Given {
	readonly name: string;
	readonly lease_id: string;
}

/** The result of a walk. */
export interface Walked {
	readonly given: readonly Given[];
	/** Number of answers of each kind, and of faults of each kind. */
	readonly counts: ReadonlyMap<string, number>;
}

const CLIENTS = 4;
const LONGEST_FAULT_MS = 1500;
/** Longer than the server waits for an answer. */
const LONGEST_HOLD_MS = 6000;

/** Lets several clients ask for credentials and give them back, while everything fails in turn. Each draws its own random choices from the seed. */
export async function walk(world: KeyValueWorld, seed: number, seconds: number): Promise<Walked> {
	const walker = new Walker(world);
	const seeds = seededRandom(seed);
	const chance = () => seededRandom(seeds.below(2 ** 31));
	const end = performance.now() + seconds * 1000;
	const isOver = () => performance.now() >= end;
	const failing = chance();
	const clients = Array.from({ length: CLIENTS }, () => walker.ask(chance(), isOver));
	// When one fails first, the others must still end.
	const ends = await Promise.allSettled([...clients, walker.fail(failing, isOver)]);
	for (const end of ends) if (end.status === "rejected") throw end.reason;
	return walker;
}

/** Chooses one item. */
const pick = <T>(random: Random, list: readonly T[]): T =>
	list[random.below(list.length)] ?? assert.fail("an empty list");

class Walker implements Walked {
	readonly given: Given[] = [];
	readonly counts = new Map<string, number>();
	readonly #world: KeyValueWorld;
	/** The server in its present life: its address stays known afterwards. */
	#client: Api;
	/** Settles when the server runs. */
	#running: Promise<void> = Promise.resolve();
	#isEnding = false;

	constructor(world: KeyValueWorld) {
		this.#world = world;
		this.#client = api({ ...world.server });
	}

	/** Runs one client, which does one thing after the other. */
	async ask(random: Random, isOver: () => boolean): Promise<void> {
		while (!isOver()) {
			await this.#running;
			const client = this.#client;
			try {
				await this.#askOnce(client, random);
			} catch (error) {
				// Only a server that is ending may leave a client without an answer.
				const isBroken = !(error instanceof AssertionError) && (this.#isEnding || client !== this.#client);
				if (!isBroken) throw error;
				this.#count("no answer");
			}
		}
	}

	/** Makes one fault after the other and undoes each. */
	async fail(random: Random, isOver: () => boolean): Promise<void> {
		const { redis, proxy } = this.#world;
		const during = async (begin: () => unknown, end: () => unknown) => {
			await begin();
			await sleep(random.below(LONGEST_FAULT_MS));
			await end();
		};
		const hold = async (text: string) => {
			const held = proxy.hold(text);
			const isCaught = await Promise.race([held.caught.then(() => true), sleep(LONGEST_FAULT_MS, false)]);
			if (isCaught) await sleep(random.below(LONGEST_HOLD_MS));
			if (isCaught) await held.release();
			proxy.restore();
		};
		const faults: Record<string, () => Promise<void>> = {
			"server killed": () => this.#endServer(random, "SIGKILL"),
			"server killed soon again": async () => {
				await this.#endServer(random, "SIGKILL");
				await this.#endServer(random, "SIGKILL");
			},
			"server stopped": () => this.#endServer(random, "SIGTERM"),
			"target killed": () => during(redis.kill, redis.start),
			"target restarted": redis.restart,
			"users saved": async () => void (await redis.admin("ACL", "SAVE")),
			"target held": () => during(redis.pause, redis.resume),
			reset: async () => proxy.reset(),
			refused: () => during(proxy.refuse, proxy.restore),
			swallowed: async () => {
				await during(proxy.blackhole, proxy.restore);
				proxy.reset();
			},
			slow: () => during(() => proxy.delay(50), proxy.restore),
			"create held": () => hold("SETUSER"),
			"removal held": () => hold("DELUSER"),
		};
		while (!isOver()) {
			await sleep(random.below(LONGEST_FAULT_MS / 3));
			const what = pick(random, Object.keys(faults));
			await faults[what]?.();
			this.#count(what);
		}
	}

	async #endServer(random: Random, signal: NodeJS.Signals): Promise<void> {
		const { server } = this.#world;
		const running = Promise.withResolvers<void>();
		this.#running = running.promise;
		this.#isEnding = true;
		await server.kill(signal);
		await sleep(random.below(LONGEST_FAULT_MS / 3));
		await server.restart();
		this.#client = api({ ...server });
		this.#isEnding = false;
		running.resolve();
	}

	async #askOnce(client: Api, random: Random): Promise<void> {
		const known = random.below(10) < 4 && this.given.length > 0 ? pick(random, this.given) : undefined;
		if (known === undefined) return this.#generate(client, random);
		const { token } = this.#world.admin;
		const realm = `/realms/${this.#world.slug}`;
		if (random.below(2) === 0) {
			this.#note("revoke", await client.delete(`${realm}/leases/${known.lease_id}`, { token }), [200, 202, 409, 503]);
		} else {
			const answer = await client.post(`${realm}/engines/keyvalue/validate`, { username: known.name }, { token });
			this.#note("validate", answer, [200, 409, 503]);
		}
	}

	async #generate(client: Api, random: Random): Promise<void> {
		const ttl = pick(random, ["1s", "2s", "2s", "1h"]);
		const role = pick(random, ["readonly", "readwrite", "admin"]);
		const path = `/realms/${this.#world.slug}/engines/keyvalue/generate`;
		const answer = await client.post<Credential>(path, { ttl, role }, { token: this.#world.admin.token });
		this.#note("generate", answer, [200, 409, 503]);
		if (answer.status !== 200) return void (await sleep(20));
		this.given.push({ name: answer.body.username, lease_id: String(answer.headers["x-lease-id"]) });
	}

	#note(what: string, answer: Answer, allowed: readonly number[]): void {
		assert.ok(allowed.includes(answer.status), `${what} answered ${answer.status}: ${answer.text}`);
		this.#count(`${what} ${answer.status}`);
	}

	#count(what: string): void {
		this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
	}
}
