/* The server, which shares its database on PostgreSQL with others: no setting of a real one allows that yet. */
import { BUILT_IN } from "../../packages/svc/src/built-in-engines.ts";
import { runOwnServer } from "../harness/own-server.ts";

await runOwnServer(BUILT_IN, { isShared: true });
