// @ts-check

const status = document.querySelector("[role=status]");
const shown = [...document.querySelectorAll("[data-value]")];

/** Seconds for which a value is shown; the server's answer also reloads the page after them. */
const shownSeconds = Number(shown[0]?.getAttribute("data-value")) || 30;

/** Takes the value out of the page: Back must not show it again. */
function hide() {
	if (!shown.some((one) => one.isConnected)) return;
	for (const one of shown) {
		one.textContent = "";
		one.remove();
	}
	for (const other of document.querySelectorAll("[data-copy], [data-qr]")) other.remove();
	if (status !== null) status.textContent = "The value is hidden.";
}

if (shown.length > 0) {
	addEventListener("pagehide", hide);
	setTimeout(hide, shownSeconds * 1000);
}

/** Puts fields of secrets back as the server sent them: Back must not show what was typed either. */
addEventListener("pagehide", () => {
	for (const field of document.querySelectorAll("textarea, input[type=password]"))
		if (field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement) field.value = field.defaultValue;
});

/**
 * Copies a value, and takes it out of the page if it is there only for that.
 * @param {Element | undefined} value
 */
async function copy(value) {
	if (value === undefined || value.textContent === null || value.textContent === "") return;
	await navigator.clipboard.writeText(value.textContent);
	if (value.hasAttribute("data-copied")) hide();
	if (status !== null) status.textContent = "Copied. The clipboard keeps it until you copy something else.";
}

for (const button of document.querySelectorAll("[data-scripted]")) button.removeAttribute("hidden");

for (const button of document.querySelectorAll("[data-copy]")) {
	button.removeAttribute("hidden");
	// A page with one value does not name it.
	const id = button.getAttribute("data-copy");
	button.addEventListener("click", () => copy(id === "" ? shown[0] : shown.find((one) => one.id === id)));
}

// A browser that asks for a click first leaves the button for it.
if (shown[0]?.hasAttribute("data-copied")) copy(shown[0]).catch(() => undefined);

/** Fills in what the link of an invitation says behind #, which browsers send to no server, and takes it out of the address. */
const invited = new URLSearchParams(location.hash.slice(1));
for (const name of ["email", "invitation"]) {
	const field = document.querySelector(`form[action="/console/register"] [name=${name}]`);
	if (field instanceof HTMLInputElement && invited.has(name)) {
		field.value = invited.get(name) ?? "";
		history.replaceState(null, "", location.pathname);
	}
}

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
