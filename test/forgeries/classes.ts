import assert from "node:assert/strict";
import { WITH_AN_AIM } from "./aims.ts";
import { emptied } from "./indexes.ts";
import { OF_LOG, WITHIN_LOG } from "./log.ts";
import { moved, ofRows, swapped } from "./rows.ts";
import type { Forgery } from "./trial.ts";

/** Finds a forgery by the end of its name. */
export const named = (forgeries: readonly Forgery[], name: string): Forgery =>
	forgeries.find((forgery) => forgery.name.endsWith(`: ${name}`)) ?? assert.fail(`no forgery ${name}`);

/** One forgery of rows of each class. */
export const OF_ROWS: Readonly<Record<string, Forgery>> = {
	"a row inserted": named(WITH_AN_AIM, "a token of one's own making"),
	"a row changed": named(WITH_AN_AIM, "to administer the instance"),
	"two rows swapped": swapped("account", "password"),
	"a row moved to another realm": moved("binding"),
	"rows as they once were": named(WITH_AN_AIM, "everything that ended, as it once was"),
	"all accounts deleted": named(WITH_AN_AIM, "to be the first account"),
	"all second factors deleted": named(WITH_AN_AIM, "to sign in without a second factor"),
	"all marks of used JWTs deleted": named(WITH_AN_AIM, "a JWT used once more"),
	"an older value as the current one": named(WITH_AN_AIM, "an older value"),
	"a lease put off": named(WITH_AN_AIM, "a credential that lives longer"),
	"a role deleted": named(ofRows("binding"), "a row deleted"),
	"an index of roles without entries": emptied("binding_in_order"),
};

/** One forgery of the log of each class. */
export const CLASSES_OF_LOG: Readonly<Record<string, Forgery>> = {
	"a log cut": named(OF_LOG, "cut with its checkpoints"),
	"a log cut and forged": named(OF_LOG, "cut, forged and without checkpoints"),
	"a log rehashed from the middle": named(OF_LOG, "rehashed from the middle, without checkpoints"),
	"the log's end as it once was": named(OF_LOG, "its end as it once was"),
	"a log in another order": named(WITHIN_LOG, "reordered"),
	"replaced checkpoints": named(WITHIN_LOG, "checkpoints' hash replaced"),
};
