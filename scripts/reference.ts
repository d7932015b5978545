import { writeFileSync } from "node:fs";
import { REFERENCE, referencePage } from "./reference-page.ts";

/** `npm run reference`: writes the reference of commands and endpoints. A test fails while it is out of date. */
writeFileSync(REFERENCE, await referencePage());
