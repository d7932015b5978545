import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, Instant } from "../messages.ts";
import { type BackupNeeds, createBackup, downloadBackup, listBackups } from "./backups.ts";

const BackupSchema = v.object({
	name: v.string(),
	created_at: Instant,
	bytes: Count,
	sha256: v.string(),
	fingerprint: v.string(),
	events: Count,
});

/** Design: §6. */
export function backupRoutes(needs: BackupNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/backups",
			summary: "Create a backup: a verified copy of the database, without the master key",
			forBackups: true,
			status: 201,
			answer: BackupSchema,
			errors: ["unhealthy"],
			handle: ({ actor }) => createBackup(needs, actor),
		}),
		route({
			method: "GET",
			path: "/api/v1/backups",
			summary: "The backups on the server, newest first",
			forBackups: true,
			status: 200,
			answer: v.object({ backups: v.array(BackupSchema) }),
			errors: ["unhealthy"],
			handle: async ({ actor }) => ({ backups: await listBackups(needs, actor) }),
		}),
		route({
			method: "GET",
			path: "/api/v1/backups/{name}",
			summary: "A backup's file",
			forBackups: true,
			status: 200,
			answer: v.string(),
			media: "application/octet-stream",
			errors: ["not_found", "unhealthy"],
			async handle({ actor, params, headers }) {
				const { backup, content } = await downloadBackup(needs, actor, params.name);
				headers["content-length"] = String(backup.bytes);
				return content;
			},
		}),
	];
}
