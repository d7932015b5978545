// biome-ignore-start lint/performance/noBarrelFile: the package's only door, an explicit list
export { type Fields, isObject, MASK } from "@svc/protocol";
export { expiresIn, managedName, newPassword, parseTtl, rfc3339 } from "./credentials.ts";
export { type Engine, EngineError, optionalText, optionalTexts, ParamsError } from "./engine.ts";
export { type ManagedUser, newManagedUser, readManagedUsername } from "./managed-user.ts";
export { findRole, unknownRole } from "./roles.ts";
export { type Streams, serveEngine } from "./serve.ts";
// biome-ignore-end lint/performance/noBarrelFile: the package's only door, an explicit list
