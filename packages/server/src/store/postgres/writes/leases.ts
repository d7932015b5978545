import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { beginning } from "./lease-beginnings.ts";
import { ending } from "./lease-ends.ts";
import { revoking } from "./lease-revocation.ts";
import { upkeep } from "./lease-upkeep.ts";

/** Makes the operations on leases. Each names the states it starts from, so that one of two racing operations changes nothing. */
export function leaseWrites(db: Change): Async<Implementations<"write">["leases"]> {
	return { ...beginning(db), ...revoking(db), ...ending(db), ...upkeep(db) };
}
