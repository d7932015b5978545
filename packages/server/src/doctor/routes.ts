import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { errorMessage } from "../messages.ts";
import { type DoctorNeeds, examine } from "./doctor.ts";

const CheckSchema = v.object({
	name: v.string(),
	status: v.picklist(["ok", "warning", "failed"]),
	message: v.string(),
	hint: v.string(),
});

/** Makes the route that `svc doctor` calls. */
export function doctorRoutes(needs: DoctorNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/doctor",
			summary:
				"Check the machine, settings, database, audit log and engines, with the engines' rights at their targets",
			query: v.object({
				deep: v.optional(
					v.picklist(["true", "false"], errorMessage("validation_failed", "deep must be true or false")),
				),
			}),
			status: 200,
			answer: v.object({ checks: v.array(CheckSchema) }),
			handle: async ({ actor, query }) => ({ checks: await examine(needs, actor, query.deep === "true") }),
		}),
	];
}
