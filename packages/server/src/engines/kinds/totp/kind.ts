import type { Kind } from "../kind.ts";

/** One-time codes. The secret is the caller's, so any member may have them made and checked. */
export const totp: Kind = { isForEveryMember: true, destination: [] };
