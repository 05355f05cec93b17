"use strict";
// The page: a terminal, the socket to the TUI behind it, the keys of phones.
(() => {
  const element = (id) => document.getElementById(id);
  const store = { get: (name) => localStorage.getItem(name), set: (name, value) => localStorage.setItem(name, value) };
  const ended = { // by the code of the server, see server/web/viewers.py
    1012: "The server has ended.",
    1013: "Too much input at once.",
    4000: "The TUI has ended.",
    4001: "Disconnected after 30 minutes without input.",
    4002: "Shown on another page now.",
    4003: "Five pages are open already. Close one of them.",
    4004: "The TUI cannot start.",
  };
  const pasteLimit = 1 << 20;
  const clipboardLimit = 1 << 20;
  const sequences = { escape: "\x1b", tab: "\t", enter: "\r" };
  const arrows = { up: "A", down: "B", right: "C", left: "D" };
  const isNarrow = () => window.innerWidth <= 600;
  const isTouch = matchMedia("(pointer: coarse)").matches || isNarrow();
  const light = matchMedia("(prefers-color-scheme: light)");
  const colors = () => (light.matches
    ? { background: "#fcfbf9", foreground: "#1f2430", cursor: "#1f2430", selectionBackground: "#b9cdf5" }
    : { background: "#15161b", foreground: "#d7dae0", cursor: "#d7dae0", selectionBackground: "#34466e" });

  document.body.classList.toggle("touch", isTouch);
  const terminal = new Terminal({
    allowProposedApi: true, // the widths of Unicode 11
    fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace',
    fontSize: isNarrow() ? 12 : 14,
    scrollback: 0,
    macOptionIsMeta: true,
    theme: colors(),
  });
  const fit = new FitAddon.FitAddon();
  terminal.loadAddon(fit);
  terminal.loadAddon(new Unicode11Addon.Unicode11Addon());
  terminal.unicode.activeVersion = "11";
  terminal.open(element("terminal"));
  terminal.onTitleChange((title) => { document.title = title || "opencode-tui"; });
  light.addEventListener("change", () => { terminal.options.theme = colors(); });

  // ---- The socket.
  let socket = null;
  let viewer = sessionStorage.getItem("opencode-tui-viewer") ?? "";
  let isWaitingForKey = false;
  let retry = 0;
  let timer = 0;
  let pong = 0;

  function show(text) {
    element("status").textContent = text;
    element("status").hidden = !text;
  }

  async function ticket() {
    const answer = await fetch("/web/ticket", {
      method: "POST", headers: { "content-type": "application/json" }, credentials: "same-origin",
      body: JSON.stringify({ key: store.get("opencode-tui-key") ?? "" }),
    });
    if (answer.status === 401) {
      location.replace("/web/login");
      return new Promise(() => {});
    }
    if (!answer.ok) throw new Error(`ticket: ${answer.status}`);
    return (await answer.json()).ticket;
  }

  async function connect() {
    clearTimeout(timer);
    isWaitingForKey = false;
    let given;
    try {
      given = await ticket();
    } catch {
      reconnectLater();
      return;
    }
    const query = new URLSearchParams({ ticket: given, viewer, columns: terminal.cols, rows: terminal.rows });
    const opened = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/web/socket?${query}`);
    opened.binaryType = "arraybuffer";
    opened.onmessage = (event) => receive(opened, event.data);
    opened.onclose = (event) => lost(opened, event);
    socket = opened;
  }

  function receive(from, data) {
    if (from !== socket) return;
    if (typeof data !== "string") {
      terminal.write(new Uint8Array(data));
      return;
    }
    const given = JSON.parse(data);
    if (given.pong) clearTimeout(pong);
    if (!given.viewer) return;
    retry = 0;
    show("");
    if (!given.isResumed) terminal.reset();
    viewer = given.viewer;
    sessionStorage.setItem("opencode-tui-viewer", viewer);
    resize();
  }

  function lost(from, event) {
    if (from !== socket) return;
    socket = null;
    clearTimeout(pong);
    const reason = ended[event.code];
    if (!reason || event.code === 1012) {
      reconnectLater(event.code === 1012 ? reason : "");
      return;
    }
    viewer = "";
    sessionStorage.removeItem("opencode-tui-viewer");
    isWaitingForKey = true;
    const action = isTouch ? "Tap here" : "Press Enter";
    show(`${reason} ${event.code === 4004 ? event.reason : ""} ${action} to open it again.`.replace(/ +/g, " "));
  }

  function reconnectLater(reason = "") {
    socket = null;
    show(`${reason || "The connection was lost."} Connecting again …`.trim());
    clearTimeout(timer);
    timer = setTimeout(connect, Math.min(250 * 2 ** retry++, 5000));
  }

  function send(data) {
    if (socket?.readyState !== WebSocket.OPEN) return;
    if (data.length > pasteLimit / 4) {
      const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
      if (bytes.length > pasteLimit - 64) {
        show("More than 1 MB cannot be pasted; it was left out.");
        setTimeout(() => show(""), 5000);
        return;
      }
      socket.send(bytes);
      return;
    }
    socket.send(typeof data === "string" ? new TextEncoder().encode(data) : data);
  }

  function control(message) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  setInterval(() => { // a connection can be dead although nobody closed it
    if (socket?.readyState !== WebSocket.OPEN) return;
    const asked = socket;
    control({ ping: 1 });
    clearTimeout(pong);
    pong = setTimeout(() => {
      if (asked !== socket) return;
      asked.close();
      reconnectLater();
    }, 8000);
  }, 15000);
  window.addEventListener("online", () => { if (!socket && !isWaitingForKey) connect(); });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !socket && !isWaitingForKey) { retry = 0; connect(); }
  });
  window.addEventListener("pagehide", () => { socket?.close(1000); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) connect(); });

  // ---- The size.
  function resize() {
    fit.fit();
    control({ resize: [terminal.cols, terminal.rows] });
  }

  let resizing = 0;
  function resizeSoon() {
    if (window.visualViewport && isTouch) element("page").style.height = `${Math.floor(window.visualViewport.height)}px`;
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(resize);
  }
  window.addEventListener("resize", resizeSoon);
  window.visualViewport?.addEventListener("resize", resizeSoon);

  // ---- Keys.
  let isCtrl = false;
  function setCtrl(isOn) {
    isCtrl = isOn;
    document.querySelector('[data-key="ctrl"]').setAttribute("aria-pressed", String(isOn));
  }

  function type(data) {
    if (isWaitingForKey) {
      if (data === "\r") connect();
      return;
    }
    if (isCtrl && data.length === 1) {
      setCtrl(false);
      const code = data.toUpperCase().charCodeAt(0);
      send(code >= 63 && code < 96 ? String.fromCharCode(code & 31) : data);
      return;
    }
    send(data);
  }

  terminal.onData(type);
  terminal.onBinary((data) => send(Uint8Array.from(data, (one) => one.charCodeAt(0))));
  terminal.attachCustomKeyEventHandler((event) => {
    const plain = !event.shiftKey && !event.metaKey;
    if (event.ctrlKey && !event.altKey && plain && event.code === "KeyV") return false; // the browser pastes
    if (event.type !== "keydown") return true;
    if (event.altKey && !event.ctrlKey && plain && ["KeyW", "KeyT", "KeyN"].includes(event.code)) {
      event.preventDefault();
      type(String.fromCharCode(event.code.charCodeAt(3) & 31));
      return false;
    }
    if (event.key === "Enter" && (event.shiftKey || event.ctrlKey) && !event.altKey) {
      event.preventDefault();
      type("\n");
      return false;
    }
    return true;
  });

  element("keys").addEventListener("pointerdown", (event) => event.preventDefault()); // the terminal keeps the focus
  element("keys").addEventListener("click", (event) => {
    const key = event.target.dataset.key;
    if (!key) return;
    if (key === "ctrl") {
      setCtrl(!isCtrl);
    } else if (arrows[key]) {
      const start = terminal.modes.applicationCursorKeysMode && !isCtrl ? "\x1bO" : "\x1b[";
      type(`${start}${isCtrl ? "1;5" : ""}${arrows[key]}`);
      setCtrl(false);
    } else {
      setCtrl(false);
      type(sequences[key]);
    }
  });
  element("status").addEventListener("click", () => { if (isWaitingForKey) connect(); });

  // ---- Touch: a finger scrolls as a wheel does.
  let from = null;
  element("terminal").addEventListener("touchstart", (event) => {
    from = event.touches.length === 1 ? event.touches[0].clientY : null;
  }, { passive: true });
  element("terminal").addEventListener("touchmove", (event) => {
    if (from === null) return;
    event.preventDefault();
    const touch = event.touches[0];
    const step = element("terminal").clientHeight / terminal.rows;
    const lines = Math.trunc((from - touch.clientY) / step);
    from -= lines * step;
    const screen = terminal.element.querySelector(".xterm-screen");
    for (let line = 0; line < Math.abs(lines); line++) {
      screen.dispatchEvent(new WheelEvent("wheel", {
        bubbles: true, cancelable: true, clientX: touch.clientX, clientY: touch.clientY, deltaMode: 1, deltaY: Math.sign(lines),
      }));
    }
  }, { passive: false });

  // ---- The clipboard: the TUI writes it, and never reads it.
  terminal.parser.registerOscHandler(52, (data) => {
    const text = data.slice(data.indexOf(";") + 1);
    if (text === "?" || text.length > clipboardLimit) return true;
    try {
      copy(new TextDecoder().decode(Uint8Array.from(atob(text), (one) => one.charCodeAt(0))));
    } catch { /* not base64 */ }
    return true;
  });

  function copy(text) {
    const fallback = () => { // without HTTPS there is no clipboard API
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      terminal.focus();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).catch(fallback);
    else fallback();
  }

  // ---- The line below.
  if (store.get("opencode-tui-help") === "hidden") element("help").hidden = true;
  element("hide").addEventListener("click", () => {
    store.set("opencode-tui-help", "hidden");
    element("help").hidden = true;
    resizeSoon();
    terminal.focus();
  });
  element("logout").addEventListener("click", async () => {
    await fetch("/web/logout", { method: "POST", credentials: "same-origin" });
    localStorage.removeItem("opencode-tui-key");
    sessionStorage.removeItem("opencode-tui-viewer");
    location.replace("/web/login");
  });

  fit.fit();
  terminal.focus();
  show("Connecting …");
  connect();
})();
