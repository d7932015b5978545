/* The server as it is, with a probe in each of its threads. */
import { BUILT_IN } from "../../../packages/svc/src/built-in-engines.ts";
import { runOwnServer } from "../../harness/own-server.ts";

await runOwnServer(BUILT_IN);
