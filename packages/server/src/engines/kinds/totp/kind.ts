import type { Kind } from "../kind.ts";

/** One-time codes. The secret is the caller's, so any member may make and check them. */
export const totp: Kind = { isForEveryMember: true, destination: [] };
