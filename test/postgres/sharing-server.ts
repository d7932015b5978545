/* The server from source. Every server shares its database on PostgreSQL with others. */
import { BUILT_IN } from "../../packages/svc/src/built-in-engines.ts";
import { runOwnServer } from "../harness/own-server.ts";

await runOwnServer(BUILT_IN);
