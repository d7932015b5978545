import { type DoctorNeeds, examine } from "../../doctor/doctor.ts";
import { command } from "../command.ts";
import { type Html, html } from "../html.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { table } from "./components.ts";
import { ofServer } from "./server-frame.ts";

/** The doctor's findings, for the instance admin. It changes nothing. */
export function doctorPage(needs: DoctorNeeds): Endpoint[] {
	return [{ method: "GET", path: /^\/console\/doctor$/, answer: (visit) => doctor(needs, visit) }];
}

const RANK = { failed: 0, warning: 1, ok: 2 } as const;
const CLASSES = { failed: "bad", warning: "warn", ok: "" } as const;

async function doctor(needs: DoctorNeeds, { actor }: Visit): Promise<Page> {
	const checks = (await examine(needs, actor, false)).toSorted((a, b) => RANK[a.status] - RANK[b.status]);
	const rows: Html[] = checks.map(
		({ name, status, message, hint }) =>
			html`<tr><th scope="row" class="type">${name}</th><td data-label="State" class="type ${CLASSES[status]}">${status}</td><td data-label="Finding">${message}</td><td data-label="What to do">${hint}</td></tr>`,
	);
	return {
		...ofServer("Doctor", actor),
		title: "Doctor",
		body: table("Findings, the worst first", ["Check", "State", "Finding", "What to do"], rows),
		commands: [command`svc doctor`, command`svc doctor --deep`],
	};
}
