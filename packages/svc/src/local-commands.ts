import type { LocalCommand } from "@svc/cli/command";
import { ACCEPT_LOSS } from "./commands/accept-loss.ts";
import { ADOPT } from "./commands/adopt.ts";
import { BACKUP_VERIFY } from "./commands/backup-verify.ts";
import { DATABASE_MIGRATE, DATABASE_ROLES } from "./commands/database.ts";
import { ENGINE_INSTALL } from "./commands/engine-install.ts";
import { ENGINE_NEW } from "./commands/engine-new.ts";
import { ENGINE_TEST } from "./commands/engine-test.ts";
import { INSTALL } from "./commands/install.ts";
import { RECOVER } from "./commands/recover.ts";
import { RESTORE } from "./commands/restore.ts";
import { SERVER } from "./commands/server.ts";
import { UNINSTALL } from "./commands/uninstall.ts";
import { VERSION } from "./commands/version.ts";

/** Commands that work on this machine, besides those that ask a server. Each loads its needs when it runs. */
export const LOCAL_COMMANDS: readonly LocalCommand[] = [
	SERVER,
	INSTALL,
	UNINSTALL,
	VERSION,
	ENGINE_NEW,
	ENGINE_TEST,
	BACKUP_VERIFY,
	RESTORE,
	ADOPT,
	RECOVER,
	ENGINE_INSTALL,
	DATABASE_ROLES,
	DATABASE_MIGRATE,
	ACCEPT_LOSS,
];
