// @ts-check

const status = document.querySelector("[role=status]");
const shown = document.querySelector("[data-value]");

/** Seconds for which a value is shown; the server's answer also reloads the page after them. */
const shownSeconds = Number(shown?.getAttribute("data-value")) || 30;

/** Takes the value out of the page: Back must not show it again. */
function hide() {
	if (shown === null || shown.textContent === "") return;
	shown.textContent = "";
	shown.remove();
	for (const other of document.querySelectorAll("[data-copy], [data-qr]")) other.remove();
	if (status !== null) status.textContent = "The value is hidden.";
}

if (shown !== null) {
	addEventListener("pagehide", hide);
	setTimeout(hide, shownSeconds * 1000);
}

/** Puts fields of secrets back as the server sent them: Back must not show what was typed either. */
addEventListener("pagehide", () => {
	for (const field of document.querySelectorAll("textarea, input[type=password]"))
		if (field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement) field.value = field.defaultValue;
});

/** Copies the value, and takes it out of the page if it is there only for that. */
async function copy() {
	if (shown === null || shown.textContent === null || shown.textContent === "") return;
	await navigator.clipboard.writeText(shown.textContent);
	if (shown.hasAttribute("data-copied")) hide();
	if (status !== null) status.textContent = "Copied. The clipboard keeps it until you copy something else.";
}

for (const button of document.querySelectorAll("[data-scripted]")) button.removeAttribute("hidden");

for (const button of document.querySelectorAll("[data-copy]")) {
	button.removeAttribute("hidden");
	button.addEventListener("click", copy);
}

// A browser that asks for a click first leaves the button for it.
if (shown?.hasAttribute("data-copied")) copy().catch(() => undefined);

for (const text of document.querySelectorAll("[data-without-script]")) text.setAttribute("hidden", "");

/** Why the browser used or made no passkey, by the name of its error. */
const refusals = new Map([
	["InvalidStateError", "This device has a passkey of your account already."],
	[
		"NotAllowedError",
		"No passkey was used: it was cancelled, took too long, or the browser does not trust the server's certificate.",
	],
	["SecurityError", "At this address the browser allows no passkeys."],
]);

/**
 * Lets the browser use a passkey, or make one.
 * @param {HTMLElement} button
 */
async function passkeyOf(button) {
	const options = JSON.parse(button.dataset.options ?? "");
	if (button.dataset.passkey === "create")
		return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
	return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-passkey]"))) {
	button.hidden = false;
	button.addEventListener("click", async () => {
		const form = button.form;
		const answer = form?.querySelector("[name=passkey]");
		if (!form || !(answer instanceof HTMLInputElement)) return;
		const code = form.querySelector("[name=code]");
		if (code instanceof HTMLInputElement) code.required = false;
		if (!form.reportValidity()) return;
		try {
			const made = await passkeyOf(button);
			answer.value = JSON.stringify(made);
			form.requestSubmit();
		} catch (error) {
			const text = error instanceof DOMException ? refusals.get(error.name) : undefined;
			if (status !== null) status.textContent = text ?? "This browser cannot use passkeys here.";
		}
	});
}
