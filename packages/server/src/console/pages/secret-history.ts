import { type Names, nameIn } from "../../names.ts";
import type { VersionInfo } from "../../secrets/model.ts";
import type { SecretName } from "../../secrets/secrets.ts";
import { type Html, html } from "../html.ts";
import { table, time } from "./components.ts";
import { expiryOf } from "./secret-expiry.ts";
import { pageOf, type SecretNeeds } from "./secret-name.ts";

/** Shows the kept versions of a secret; with a form token, also what writes an earlier one again. */
export function versionTable(
	{ system }: Pick<SecretNeeds, "system">,
	name: SecretName,
	versions: readonly VersionInfo[],
	people: ReadonlyMap<string, Names>,
	token: Html | undefined,
): Html {
	const now = system.now().toISOString();
	const [current, ...earlier] = versions;
	const isOffered = token !== undefined && earlier.length > 0;
	const isEnding = versions.some(({ expires_at }) => expires_at !== null);
	const rows = versions.map((one) => {
		const { version, created_at, created_by, comment } = one;
		const back =
			token === undefined || version === current?.version
				? ""
				: html`<form method="post" action="${pageOf(name)}">${token}<input type="hidden" name="action" value="rollback"><input type="hidden" name="version" value="${version}"><button>Roll back to version ${version}</button></form>`;
		const expiry = isEnding ? html`<td data-label="Expires">${expiryOf(one, now)}</td>` : "";
		return html`<tr><th scope="row">${version}</th><td data-label="Written">${time(created_at)}</td><td data-label="By">${nameIn(people, created_by)}</td><td data-label="Comment">${comment}</td>${expiry}${isOffered ? html`<td>${back}</td>` : ""}</tr>`;
	});
	const headings = ["Version", "Written", "By", "Comment"];
	const more = [...(isEnding ? ["Expires"] : []), ...(isOffered ? ["Roll back"] : [])];
	return html`<h2>History</h2>${table("The versions that are kept, newest first", [...headings, ...more], rows)}`;
}
