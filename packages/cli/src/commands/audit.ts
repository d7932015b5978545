import type { Command } from "commander";
import { addCommand, addGroup } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { addAuditExportCommand } from "./audit-export.ts";
import { AUDIT_LIST } from "./audit-list.ts";
import { addAuditVerifyCommand } from "./audit-verify.ts";

/** Adds the commands of the audit log. */
export function addAuditCommands(program: Command, io: Io): void {
	const audit = addGroup(program, "audit", "the log of what happened (`svc audit` alone lists)");
	addCommand(audit, io, AUDIT_LIST);
	addAuditExportCommand(audit, io);
	addAuditVerifyCommand(audit, io);
}
