/* The server without engines, for preloads that `svc server` refuses. */
import { runOwnServer } from "../../harness/own-server.ts";

await runOwnServer([]);
