import { type BackupNeeds, createBackup, listBackups } from "../../backups/backups.ts";
import { command } from "../command.ts";
import { address, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { table, time } from "./components.ts";
import { ofServer } from "./server-frame.ts";

const PATH = /^\/console\/backups$/;

/** The server's backups, and a button that makes another one, for the instance admin. */
export function backupsPage(needs: BackupNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => backups(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => make(needs, visit) },
	];
}

const MIB = 2 ** 20;

async function backups(needs: BackupNeeds, { actor, token }: Visit): Promise<Page> {
	const rows = (await listBackups(needs, actor)).map(
		({ name, created_at, bytes, events }) =>
			html`<tr><th scope="row" class="key">${name}</th><td data-label="Made">${time(created_at)}</td><td data-label="Size">${(bytes / MIB).toFixed(1)} MiB</td><td data-label="Events">${events}</td></tr>`,
	);
	const list =
		rows.length === 0
			? html`<p>No backup yet. A backup is a verified copy of the database, without the master key.</p>`
			: table("Backups on the server, newest first", ["Name", "Made", "Size", "Events"], rows);
	return {
		...ofServer("Backups", actor),
		title: "Backups",
		body: html`${list}<form method="post" action="/console/backups">${token}<p><button>Make a backup</button></p></form>
<p class="quiet">Nobody can open a backup without the master key: keep a copy of the key elsewhere.</p>`,
		commands: [command`svc backup`, command`svc backup list`],
	};
}

async function make(needs: BackupNeeds, { actor }: Visit): Promise<Moved> {
	const { name } = await createBackup(needs, actor);
	return { to: address`/console/backups`, message: `The backup ${name} is made and verified.` };
}
