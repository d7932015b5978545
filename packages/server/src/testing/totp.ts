import { Secret, TOTP } from "otpauth";
import { addFactor, confirmFactor, type FactorNeeds } from "../factors/factors.ts";
import type { Actor } from "../policy/model.ts";

/** Adds a second factor with the code of now. `code` is the app's code this many steps from now. */
export async function withTotp(needs: FactorNeeds, actor: Actor, current_password: string) {
	const { id, secret } = await addFactor(needs, actor, { type: "totp", current_password });
	const app = new TOTP({ secret: Secret.fromBase32(secret) });
	const code = (steps: number) => app.generate({ timestamp: needs.system.now().getTime() + steps * 30_000 });
	const { recovery_codes } = await confirmFactor(needs, actor, id, code(0));
	return { id, code, recovery_codes: recovery_codes.map((one) => one.replace("-", "")) };
}
