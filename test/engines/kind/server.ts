/* The server with one more kind of engine: one line of the registry. */
import * as KINDS from "../../../packages/server/src/engines/kinds/registry.ts";
import { BUILT_IN } from "../../../packages/svc/src/built-in-engines.ts";
import { runOwnServer } from "../../harness/own-server.ts";
import { folder } from "./folder.ts";

await runOwnServer(BUILT_IN, { kinds: { ...KINDS, folder } });
