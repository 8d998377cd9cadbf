// The page reads a stream of parts and shows each as text: what tools return, and what models write,
// may come from strangers. There is no innerHTML here.
const status = document.getElementById("status");
const messages = document.getElementById("messages");
const template = document.getElementById("call");
const maxShown = 20_000; // characters of a value
const maxRetry = 15_000; // milliseconds between two tries

let watching; // the AbortController of the run that is shown

document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const { tenant, run, token } = Object.fromEntries(new FormData(event.target));
  watching?.abort();
  watching = new AbortController();
  messages.replaceChildren();
  watch(tenant, run, token, watching.signal);
});

// watch reads stream after stream: one for each message, and the rest of a message whose stream broke.
async function watch(tenant, run, token, signal) {
  const view = new View();
  const url = `/v1/runs/${encodeURIComponent(run)}/events?tenant=${encodeURIComponent(tenant)}`;
  let last = "";
  let wait = 500;
  while (!signal.aborted) {
    let again = "The connection broke. Connecting again.";
    try {
      const headers = { Authorization: `Bearer ${token}` };
      if (last) headers["Last-Event-ID"] = last;
      const response = await fetch(url, { headers, signal, cache: "no-store" });
      if (response.ok) {
        say("live", `Watching ${run}`);
        for await (const { id, data } of events(response.body)) {
          wait = 500;
          if (data === "[DONE]") break;
          const part = JSON.parse(data);
          view.show(part, id);
          last = id || last;
        }
        again = `Watching ${run}`;
      } else {
        const { errorCode, safeMessage, retryAfterMs } = await response.json();
        if (response.status === 401 || response.status === 422 || response.status === 403) {
          say("bad", `${safeMessage} (${errorCode})`);
          return;
        }
        // A run is known from its first call on.
        again = response.status === 404 ? "Waiting for the first call of this run." : `${safeMessage} (${errorCode})`;
        wait = retryAfterMs ?? wait;
      }
    } catch (error) {
      if (signal.aborted) return;
    }
    say(again.startsWith("Watching") ? "live" : "", again);
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, maxRetry);
  }
}

// events yields the server-sent events of a body.
async function* events(body) {
  let text = "";
  for await (const chunk of read(body.pipeThrough(new TextDecoderStream()))) {
    text += chunk;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const event = { id: "", data: "" };
      for (const line of text.slice(0, end).split("\n")) {
        if (line.startsWith("id: ")) event.id = line.slice(4);
        if (line.startsWith("data: ")) event.data = line.slice(6);
      }
      if (event.data) yield event;
    }
  }
}

async function* read(stream) {
  const reader = stream.getReader();
  try {
    for (let part; !(part = await reader.read()).done; ) yield part.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

class View {
  calls = new Map();
  texts = new Map();

  // show applies a part. A part without an id is none of the record: the server writes it for readers
  // that do not connect again.
  show(part, id) {
    switch (part.type) {
      case "start":
        if (messages.childElementCount > 0 && !messages.lastElementChild.matches(".turn")) messages.append(element("hr", "turn"));
        break;
      case "text-start":
        this.texts.set(part.id, messages.appendChild(element("p", "text")));
        break;
      case "text-delta":
        this.texts.get(part.id)?.append(part.delta);
        break;
      case "tool-input-start":
        this.open(part.toolCallId, part.toolName);
        break;
      case "tool-input-available":
        this.set(part.toolCallId, "running", "Running", "");
        this.call(part.toolCallId).querySelector(".input").textContent = shown(part.input);
        break;
      case "tool-approval-request":
        this.set(part.toolCallId, "waiting", "Waits for approval", "");
        break;
      case "data-approval": {
        const { toolCallId, message, decision, approver } = part.data;
        const words = decision ? `${decision}${approver ? ` by ${approver}` : ""}` : message;
        this.call(toolCallId).querySelector(".note").textContent = words ?? "";
        break;
      }
      case "data-result":
        this.call(part.data.toolCallId).dataset.code = part.data.errorCode ?? "";
        break;
      case "tool-output-available":
        if (part.preliminary) this.progress(part);
        else this.output(part);
        break;
      case "tool-input-error":
      case "tool-output-error": {
        const code = this.call(part.toolCallId).dataset.code;
        if (id) this.set(part.toolCallId, "failed", code || "Failed", part.errorText);
        else this.set(part.toolCallId, "lost", "Interrupted", "");
        break;
      }
      case "tool-output-denied":
        this.set(part.toolCallId, "denied", "Denied");
        break;
    }
  }

  open(id, toolName) {
    const call = template.content.cloneNode(true).firstElementChild;
    call.querySelector(".tool").textContent = toolName;
    this.calls.set(id, messages.appendChild(call));
    this.set(id, "running", "Starting", "");
  }

  call(id) {
    if (!this.calls.has(id)) this.open(id, "call");
    return this.calls.get(id);
  }

  // set shows a state. note undefined keeps the words of the state before.
  set(id, state, words, note) {
    const call = this.call(id);
    call.dataset.state = state;
    call.querySelector(".state").textContent = words;
    if (note !== undefined) call.querySelector(".note").textContent = note;
    if (state !== "running") call.querySelector(".progress").hidden = true;
  }

  progress({ toolCallId, output: { done, total, text } }) {
    this.set(toolCallId, "running", total ? `${done} of ${total}` : `${done}`, text ?? "");
    const bar = this.call(toolCallId).querySelector(".progress");
    bar.hidden = !total;
    bar.max = total || 1;
    bar.value = done;
  }

  output({ toolCallId, output }) {
    this.set(toolCallId, "done", "Done", "");
    const field = this.call(toolCallId).querySelector(".output");
    field.textContent = shown(output);
    field.hidden = false;
  }
}

function say(kind, words) {
  status.dataset.kind = kind;
  status.textContent = words;
}

function element(name, className) {
  const made = document.createElement(name);
  made.className = className;
  return made;
}

// shown returns a value as text of a bounded length.
function shown(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 1).replace(/\s*\n\s*/g, " ");
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
