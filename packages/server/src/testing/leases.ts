import assert from "node:assert/strict";
import type { Lease, LeaseState, NewLease } from "../leases/model.ts";
import type { Store } from "../store/store.ts";
import { anEvent, MADE_AT } from "./rows.ts";

type Step = "activate" | "doubt" | "abort" | "revoke" | "settle" | "abandon";

/** The steps that bring a new lease into each state. */
const WAYS: Record<LeaseState, Step[]> = {
	intent: [],
	active: ["activate"],
	uncertain: ["doubt"],
	revoking: ["activate", "revoke"],
	revoked: ["activate", "revoke", "settle"],
	aborted: ["doubt", "settle"],
	abandoned: ["activate", "abandon"],
};

/** Writes a lease and brings it into a state by the usual operations. */
export async function addLease(
	{ leases }: Pick<Store, "leases">,
	state: LeaseState,
	lease: NewLease,
	closed_at = MADE_AT,
): Promise<Lease> {
	const due_at = lease.due_at ?? 0;
	const steps: Record<Step, () => Promise<unknown>> = {
		activate: () => leases.activate({ ...lease, due_at, payload: Buffer.from("sealed") }, anEvent()),
		doubt: () => leases.doubt({ id: lease.id, due_at, last_error: "no answer" }),
		abort: () => leases.abort({ id: lease.id, closed_at }, anEvent()),
		revoke: () => leases.revoke({ id: lease.id, due_at, reason: "requested" }, anEvent()),
		settle: () => leases.settle({ id: lease.id, closed_at }, anEvent()),
		abandon: () => leases.abandon({ id: lease.id, closed_at }, anEvent()),
	};
	assert.equal(await leases.begin(lease, null, anEvent()), "done");
	for (const step of WAYS[state]) await steps[step]();
	const made = (await leases.byId(lease.id)) ?? assert.fail("no lease");
	assert.equal(made.state, state);
	return made;
}
