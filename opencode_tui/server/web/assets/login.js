"use strict";
// The login page: the password, or the one-time secret in the fragment of a link, for a cookie and the key of this page.
(() => {
  const form = document.getElementById("form");
  const field = document.getElementById("password");
  const message = document.getElementById("message");
  const button = form.querySelector("button");
  const target = new URLSearchParams(location.search).get("to") === "inbox" ? "/web/inbox" : "/web/";

  const post = (path, body) => fetch(path, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), credentials: "same-origin",
  });

  async function logIn(body) {
    button.disabled = true;
    message.textContent = "";
    try {
      const answer = await post("/web/login", body);
      const given = await answer.json();
      if (answer.ok) {
        localStorage.setItem("opencode-tui-key", given.key);
        location.replace(target);
        return;
      }
      message.textContent = given.data?.message ?? "The login failed.";
    } catch {
      message.textContent = "The server does not answer.";
    }
    button.disabled = false;
    field.select();
  }

  // A link from another site brings no cookie to this page, although the browser may be logged in.
  async function goOnIfLoggedIn() {
    const key = localStorage.getItem("opencode-tui-key");
    if (key && (await post("/web/ticket", { key })).ok) location.replace(target);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    logIn({ password: field.value });
  });

  const link = location.hash.slice(1);
  if (link) {
    history.replaceState(null, "", location.pathname + location.search);
    logIn({ link });
  } else {
    goOnIfLoggedIn().catch(() => {});
  }
})();
