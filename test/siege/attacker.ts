/**
 * An attacker, as a separate program. Reads its order as a line of JSON from stdin, prepares the scene and writes `ready`; at the next line it
 * attacks; at the one after it starts nothing new, keeps its connections open, and writes `counted` with its counts. It ends, and closes all
 * its connections, when stdin ends, and in any case when its time is over.
 */
import { createInterface } from "node:readline";
import { Counts, type Target } from "./attack.ts";
import { attackNamed } from "./attacks.ts";

/** An attacker's order. */
export interface Order {
	readonly attack: string;
	readonly target: Target;
	/** Milliseconds after which it ends in any case. */
	readonly lifeMs: number;
}

const say = (word: string, more: object = {}): void =>
	void process.stdout.write(`${JSON.stringify({ word, ...more })}\n`);

const lines = createInterface({ input: process.stdin });
lines.once("close", () => process.exit(0));
const orders = lines[Symbol.asyncIterator]();
const { attack: name, target, lifeMs } = JSON.parse((await orders.next()).value ?? "") as Order;
setTimeout(() => process.exit(1), lifeMs);
const attack = attackNamed(name);
if (!target.isBare) await attack.prepare?.(target);
say("ready");
await orders.next();
const counts = new Counts();
const over = new AbortController();
// Each connection adds a listener.
process.setMaxListeners(0);
const attacking = attack.run(target, counts, over.signal);
await orders.next();
over.abort();
say("counted", { counts });
await attacking;
