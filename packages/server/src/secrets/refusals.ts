import { AppError, LimitReached } from "../errors.ts";

/** Makes the answer for a secret that does not exist. */
export function secretNotFound(): AppError {
	return new AppError("not_found", "secret not found: `svc secret list` shows the keys of an environment");
}

/** Makes the answer for a realm without room. */
export function realmFull(): AppError {
	return new LimitReached(
		"realm_bytes",
		"the realm is full (limits.realm_bytes, including the history): permanently remove secrets with `svc secret delete --purge`, or ask the instance admin to raise it for the realm's owner with `svc users limits`",
	);
}

/** Makes the answer to a write whose `if_version` is not the current version. */
export function versionMoved(): AppError {
	return new AppError(
		"conflict",
		"the secret has another version than if_version, so nothing was written: `svc secret history` shows who wrote it",
	);
}
