import { accountRoutes } from "../accounts/routes.ts";
import { auditRoutes } from "../audit/routes.ts";
import { backupRoutes } from "../backups/routes.ts";
import { doctorRoutes } from "../doctor/routes.ts";
import { engineRoutes } from "../engines/routes.ts";
import { factorRoutes } from "../factors/routes.ts";
import { healthRoutes } from "../health/routes.ts";
import { openApiRoute } from "../http/openapi-route.ts";
import type { Route } from "../http/route.ts";
import { invitationRoutes } from "../invitations/routes.ts";
import { keyRoutes } from "../keys/routes.ts";
import { leaseRoutes } from "../leases/routes.ts";
import { machineRoutes } from "../machines/routes.ts";
import { nodeRoutes } from "../nodes/routes.ts";
import { operatorSyncRoutes } from "../operator-sync/routes.ts";
import { policyRoutes } from "../policy/routes.ts";
import { realmRoutes } from "../realms/routes.ts";
import { resetRoutes } from "../resets/routes.ts";
import { revocationRoutes } from "../revocation/routes.ts";
import { secretRoutes } from "../secrets/routes.ts";
import { ssoRoutes } from "../sso/routes.ts";
import { tokenRoutes } from "../tokens/routes.ts";
import { trustRoutes } from "../trusts/routes.ts";

/** Lists every declared route of the server. Their handlers do not work. */
export function allRoutes(): Route[] {
	const nothing = {} as never;
	const routes = [
		...healthRoutes(nothing),
		...accountRoutes(nothing),
		...factorRoutes(nothing),
		...resetRoutes(nothing),
		...invitationRoutes(nothing),
		...ssoRoutes(nothing),
		...tokenRoutes(nothing),
		...realmRoutes(nothing),
		...secretRoutes(nothing),
		...policyRoutes(nothing),
		...machineRoutes(nothing),
		...trustRoutes(nothing),
		...engineRoutes(nothing),
		...leaseRoutes(nothing),
		...revocationRoutes(nothing),
		...operatorSyncRoutes(nothing),
		...auditRoutes(nothing),
		...backupRoutes(nothing),
		...keyRoutes(nothing),
		...doctorRoutes(nothing),
		...nodeRoutes(nothing),
	];
	return [...routes, openApiRoute(routes, "0.0.0")];
}
