/* Shared by the connectors' tests. */
import type { Fields } from "@svc/protocol";
import { createTestSystem } from "../../testing/system.ts";
import { type Subject, TargetError } from "./connector.ts";
import type { ConnectNeeds } from "./kind.ts";

/** A name and a password as engines make them. */
export const NAME = "svc_0a1b2c3d";
export const PASSWORD = "0123456789abcdef01234567";

export function subject(name = NAME, scope = ""): Subject {
	return { name, scope };
}

/** Makes the dependencies of a connector, without an engine's process. */
export function needsOf(fields: Fields): ConnectNeeds {
	return { fields, system: createTestSystem() } as unknown as ConnectNeeds;
}

/** Makes a check for assert.rejects. */
export function refusedAs(kind: TargetError["kind"], says: RegExp): (error: unknown) => boolean {
	return (error) => error instanceof TargetError && error.kind === kind && says.test(error.message);
}
