"use strict";
// The small page: what runs, waits and ended, read every three seconds while it is seen; answers and stops, each with a fresh ticket.
(() => {
  const element = (id) => document.getElementById(id);
  const list = element("list");
  const endedList = element("ended-list");
  const everyMs = 3000;
  const shown = new Map(); // the JSON of each row by its id, so that what did not change keeps its focus and its texts
  let timer = 0;

  function make(tag, given, ...inner) {
    const made = document.createElement(tag);
    const { onclick, onsubmit, ...plain } = given;
    for (const [name, value] of Object.entries(plain)) made.setAttribute(name, value);
    if (onclick) made.addEventListener("click", onclick);
    if (onsubmit) made.addEventListener("submit", onsubmit);
    made.append(...inner);
    return made;
  }

  // ---- Requests.
  class Failure extends Error {}

  async function send(path, body) {
    let answer;
    try {
      answer = await fetch(path, body === undefined ? { credentials: "same-origin" } : {
        method: "POST", headers: { "content-type": "application/json" }, credentials: "same-origin", body: JSON.stringify(body),
      });
    } catch {
      throw new Failure("The server does not answer.");
    }
    if (answer.status === 401) {
      location.replace("/web/login?to=inbox");
      throw new Failure("Log in first.");
    }
    const given = await answer.json().catch(() => null);
    if (!answer.ok) throw new Failure(given?.data?.message ?? `The server answers with status ${answer.status}.`);
    return given;
  }

  async function act(what, article, done) {
    const buttons = [...article.querySelectorAll("button")];
    for (const one of buttons) one.disabled = true;
    element("message").textContent = "";
    try {
      const { ticket } = await send("/web/ticket", { key: localStorage.getItem("opencode-tui-key") ?? "" });
      const had = await send("/web/inbox/act", { ticket, ...what });
      say(had ? done : "It was answered elsewhere meanwhile.");
    } catch (error) {
      element("message").textContent = error.message;
      for (const one of buttons) one.disabled = false;
    }
    await refresh();
  }

  const say = (words) => { element("status").textContent = words; };

  // ---- Drawing. All texts are set as text: nothing of a session is markup.
  function diffOf(text) {
    const block = make("pre", { tabindex: "0", role: "region", "aria-label": "Changes" });
    for (const line of text.split("\n")) {
      const tag = line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span";
      block.append(make(tag, {}, line), "\n");
    }
    return block;
  }

  function permission(row, one, article) {
    const section = make("section", {}, make("h3", {}, one.title));
    if (one.subject) section.append(make("pre", { tabindex: "0", role: "region", "aria-label": "What it is about" }, one.subject));
    if (one.diff) section.append(diffOf(one.diff));
    for (const why of one.why) section.append(make("p", { class: "soft" }, why));
    const reason = make("input", { type: "text", autocomplete: "off" });
    const buttons = one.buttons.map((button) => make("button", {
      type: "button", class: button.act === "once" ? "main" : "", "aria-label": `${button.words}: ${row.title}`,
      onclick: () => act({ act: button.act, id: one.id, message: button.act === "reject" ? reason.value : null }, article,
        button.act === "once" ? "Allowed once." : "Rejected."),
    }, button.words));
    section.append(make("label", { class: "own" }, make("span", { class: "soft" }, "What to do instead (with a rejection)"), reason));
    section.append(make("div", { class: "buttons" }, ...buttons));
    return section;
  }

  function questions(row, one, article) {
    const form = make("form", { onsubmit: (event) => {
      event.preventDefault();
      const answers = one.asks.map((_, number) => {
        const chosen = [...form.querySelectorAll(`[name="${one.id}-${number}"]:checked`)].map((input) => input.value);
        const own = form.querySelector(`[name="${one.id}-${number}-own"]`).value.trim();
        return own ? [...chosen.filter((label) => one.asks[number].is_multiple), own] : chosen;
      });
      if (answers.some((given) => given.length === 0)) {
        element("message").textContent = "Choose or type an answer to each question.";
        return;
      }
      act({ act: "answer", id: one.id, answers }, article, "Answered.");
    } });
    one.asks.forEach((ask, number) => {
      const kind = ask.is_multiple ? "checkbox" : "radio";
      const options = ask.options.map((option) => make("label", {},
        make("input", { type: kind, name: `${one.id}-${number}`, value: option.label }),
        make("span", {}, option.label, make("span", { class: "soft" }, option.description ? ` ${option.description}` : ""))));
      const own = make("label", { class: "own" }, make("span", { class: "soft" }, "An answer of your own"),
        make("input", { type: "text", name: `${one.id}-${number}-own`, autocomplete: "off" }));
      form.append(make("fieldset", {}, make("legend", {}, ask.text), ...options, own));
    });
    form.append(make("div", { class: "buttons" }, make("button", { class: "main", "aria-label": `Send the answer: ${row.title}` }, "Send")));
    return make("section", {}, make("h3", {}, one.title), form);
  }

  function changes(row) {
    const inner = make("div", {});
    const details = make("details", {}, make("summary", {}, "Changes"), inner);
    details.addEventListener("toggle", async () => {
      if (!details.open) return;
      try {
        const text = await send(`/web/inbox/changes?session=${encodeURIComponent(row.id)}`);
        inner.replaceChildren(text ? diffOf(text) : make("p", { class: "soft" }, "No file was changed."));
      } catch (error) {
        inner.replaceChildren(make("p", {}, error.message));
      }
    });
    return details;
  }

  function card(row) {
    const article = make("article", { id: row.id, class: row.state, "aria-label": row.title });
    article.append(make("p", { class: "state" }, row.words), make("h2", {}, row.title), make("p", { class: "soft" }, row.place),
      make("p", { class: "soft" }, row.facts));
    if (row.line) article.append(make("p", {}, row.line));
    for (const one of row.waiting) article.append(one.asks.length ? questions(row, one, article) : permission(row, one, article));
    article.append(changes(row));
    if (row.can_stop) article.append(make("div", { class: "buttons" }, make("button", { type: "button", "aria-label": `Stop: ${row.title}`,
      onclick: () => { if (confirm(`Stop “${row.title}” and all that it started?`)) act({ act: "stop", id: row.id }, article, "Stopped."); },
    }, "Stop")));
    return article;
  }

  // What changes while nothing is asked or answered (the age, the last line) must not take the focus or the typed words away.
  const identity = (row) => JSON.stringify([row.state, row.title, row.place, row.can_stop, row.waiting]);

  function remove(container, rows) {
    const wanted = new Set(rows.map((row) => row.id));
    for (const one of [...container.children]) {
      if (!wanted.has(one.id)) { shown.delete(one.id); one.remove(); }
    }
  }

  function fill(container, rows) {
    let before = null;
    for (const row of rows) {
      let article = document.getElementById(row.id);
      if (article === null || shown.get(row.id) !== identity(row)) {
        const made = card(row);
        if (article === null) container.append(made); else article.replaceWith(made);
        article = made;
        shown.set(row.id, identity(row));
      } else {
        article.children[3].textContent = row.facts;
        if (row.line && !article.contains(document.activeElement)) article.children[4].textContent = row.line;
      }
      const place = before === null ? container.firstChild : before.nextSibling;
      if (place !== article) container.insertBefore(article, place);
      before = article;
    }
  }

  function draw(given) {
    remove(list, given.rows);
    remove(endedList, given.ended);
    fill(list, given.rows);
    fill(endedList, given.ended);
    draw.until = given.until;
    element("seen").disabled = false;
    element("ended").hidden = given.ended.length === 0;
    const asking = given.rows.reduce((sum, row) => sum + row.waiting.length, 0);
    const words = given.rows.length === 0 ? "Nothing runs or waits."
      : `${asking === 1 ? "1 question waits" : `${asking} questions wait`}, ${given.rows.length === 1 ? "1 session" : `${given.rows.length} sessions`}.`;
    const ended = given.ended.length ? ` ${given.ended.length} ended since you looked.` : "";
    const silent = given.silent ? ` ${given.silent} processes do not respond.` : "";
    if (words + ended + silent !== draw.said) say(draw.said = words + ended + silent);
    document.title = `${asking ? `(${asking}) ` : ""}Inbox · opencode-tui`;
  }

  async function refresh() {
    clearTimeout(timer);
    try {
      draw(await send("/web/inbox/list"));
      if (element("message").textContent === refresh.failed) element("message").textContent = "";
    } catch (error) {
      element("message").textContent = refresh.failed = error.message;
    }
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(refresh, everyMs);
  }

  element("seen").addEventListener("click", () => act({ act: "look", until: draw.until }, element("ended"), "Seen."));
  element("logout").addEventListener("click", async () => {
    await send("/web/logout", {}).catch(() => {});
    localStorage.removeItem("opencode-tui-key");
    location.replace("/web/login?to=inbox");
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  refresh();
})();
