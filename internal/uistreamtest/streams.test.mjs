// The npm packages read the streams that Go's golden files hold: the first and a late version 6 of
// "ai", which checks each part against a schema, and "assistant-stream".
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import * as late from "ai";
import * as first from "ai-first";
import { AssistantMessageAccumulator, UIMessageStreamDecoder } from "assistant-stream";

const directory = process.env.PAWL_STREAMS ?? join(import.meta.dirname, "../../client/uistream/testdata");
const stream = (name) => readFileSync(join(directory, `${name}.sse`));
const cut = "The stream ended before this call. Its result follows when you connect again.";

// readAI returns the messages that an application shows one after the other, and the errors.
async function readAI(ai, bytes, message) {
  const transport = new ai.DefaultChatTransport({
    fetch: async () => new Response(bytes, { headers: ai.UI_MESSAGE_STREAM_HEADERS }),
  });
  const errors = [];
  const shown = [];
  const parts = await transport.reconnectToStream({ chatId: "run-1" });
  for await (const snapshot of ai.readUIMessageStream({ stream: parts, message, onError: (error) => errors.push(error.message) })) {
    shown.push(snapshot);
  }
  return { message: shown.at(-1), shown, errors };
}

// readAssistant returns the last message of assistant-stream.
async function readAssistant(bytes) {
  const source = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(bytes));
      controller.close();
    },
  });
  let last;
  for await (const message of source.pipeThrough(new UIMessageStreamDecoder()).pipeThrough(new AssistantMessageAccumulator())) {
    last = message;
  }
  return last;
}

const calls = (message) => message.parts.filter((part) => part.type === "dynamic-tool");
const data = (message, type) => message.parts.filter((part) => part.type === type).map((part) => part.data);
const text = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text);

// Each row is what one call of the stream is for "ai": its state and output, and its error.
const expected = {
  two_calls: [["output-available", { text: "a" }], ["output-available", "b"]],
  error: [["output-error", undefined, "Error executing tool: the tool failed"]],
  invalid_arguments: [["output-error", undefined, "Invalid tool arguments JSON"]],
  policy_denied: [["output-error", undefined, "Permission denied by policy"]],
  approval_waits: [["output-error", undefined, cut]],
  approval_waits_open: [["approval-requested"]],
  approved: [["output-available", { written: 3 }]],
  denied: [["output-denied"]],
  cancelled: [["output-error", undefined, "Cancelled"]],
  progress: [["output-available", { exitCode: 0 }]],
  three_parallel: [["output-error", undefined, "The tool timed out"], ["output-available", null], ["output-available", 3]],
  large: [["output-available", JSON.parse(JSON.stringify({ text: "лорем ipsum <b>&\u2028 ".repeat(2600) }))], ["output-available", { outputRef: "out_1" }]],
  done_before_result: [["output-available", 1]],
  interrupted: [["output-error", undefined, cut], ["output-error", undefined, cut]],
  failed: [["output-error", undefined, cut]],
};

test("every stream is read", () => {
  const names = readdirSync(directory).filter((name) => name.endsWith(".sse")).map((name) => name.slice(0, -4));
  assert.deepEqual(names.sort(), [...Object.keys(expected), "resumed"].sort());
});

for (const [version, ai] of [["6.0.0", first], ["6.0.325", late]]) {
  for (const [name, want] of Object.entries(expected)) {
    test(`ai ${version} reads ${name}`, async () => {
      const { message, errors } = await readAI(ai, stream(name));
      assert.deepEqual(errors, name === "failed" ? ["The events of the run cannot be read."] : []);
      assert.equal(message.id, "run-1");
      assert.deepEqual(calls(message).map((part) => [part.state, part.output, part.errorText]), want.map((row) => [row[0], row[1], row[2]]));
      assert.ok(calls(message).every((part) => !part.preliminary));
      assert.ok(message.parts.filter((part) => part.type === "text").every((part) => part.state === "done"));
    });
  }

  test(`ai ${version} shows text, calls and text in their order`, async () => {
    const { message } = await readAI(ai, stream("two_calls"));
    assert.deepEqual(message.parts.filter((part) => !part.type.startsWith("data-")).map((part) => part.type), ["text", "dynamic-tool", "dynamic-tool", "text"]);
    assert.deepEqual(text(message), ["I look at both files.", "They differ."]);
    assert.deepEqual(calls(message).map((part) => [part.toolCallId, part.toolName, part.input]), [
      ["call-1", "core__read_file", { path: "a.md" }],
      ["call-2", "core__read_file", { path: "b.md" }],
    ]);
  });

  test(`ai ${version} shows an approval from its request to the result`, async () => {
    const { message, shown } = await readAI(ai, stream("approved"));
    const states = shown.flatMap((snapshot) => calls(snapshot).map((part) => part.state)).filter((state, n, all) => state !== all[n - 1]);
    assert.deepEqual(states, ["input-streaming", "input-available", "approval-requested", "input-available", "output-available"]);
    assert.deepEqual(calls(message)[0].input, { path: "b.md" });
    assert.deepEqual(calls(message)[0].approval, { id: "inv-call-1.1" });
    assert.deepEqual(data(message, "data-approval"), [
      { toolCallId: "call-1", approvalId: "inv-call-1.1", message: "May the agent write?", decision: "edited", approver: "user:ann" },
    ]);
  });

  test(`ai ${version} shows progress as preliminary output`, async () => {
    const { shown } = await readAI(ai, stream("progress"));
    const seen = shown.flatMap(calls).filter((part) => part.preliminary).map((part) => part.output.text);
    assert.deepEqual([...new Set(seen)], ["one", "two"]);
  });

  test(`ai ${version} knows the facts of a result`, async () => {
    const { message } = await readAI(ai, stream("error"));
    assert.equal(data(message, "data-result")[0].errorCode, "execution");
    assert.equal(data(message, "data-result")[0].inputDigest, undefined);
  });

  test(`ai ${version} goes on with a stream that was interrupted`, async () => {
    const before = await readAI(ai, stream("interrupted"));
    const { message, errors } = await readAI(ai, stream("resumed"), before.message);
    assert.deepEqual(errors, []);
    assert.equal(message.id, "run-1");
    assert.deepEqual(calls(message).map((part) => [part.toolCallId, part.state, part.output, part.errorText]), [
      ["call-1", "output-available", "a", undefined],
      ["call-2", "output-error", undefined, "The tool call is not valid"],
    ]);
    assert.deepEqual(text(message), ["I look.", "Done."]);
  });

  test(`ai ${version} goes on after any part`, async () => {
    for (const name of ["two_calls", "approved", "denied", "progress", "three_parallel", "done_before_result"]) {
      const events = stream(name).toString().split(/(?<=\n\n)/);
      const whole = (await readAI(ai, stream(name))).message;
      for (let n = 1; n < events.length - 1; n++) {
        // Which text is open, "ai" knows only while it reads: with such a text a reader has to go on
        // with the same parser, as examples/watch does.
        const before = (await readAI(ai, events.slice(0, n).join(""))).message;
        if (before.parts.some((part) => part.type === "text" && part.state === "streaming")) continue;
        const after = await readAI(ai, events.slice(n).join(""), before);
        assert.deepEqual(after.errors, []);
        if (after.message) assert.deepEqual(after.message, whole);
      }
    }
  });

  test(`ai ${version} gives a finished message to a model`, async () => {
    const { message } = await readAI(ai, stream("three_parallel"));
    const messages = await ai.convertToModelMessages([message]);
    const results = messages.flatMap((m) => (Array.isArray(m.content) ? m.content : [])).filter((part) => part.type === "tool-result");
    assert.deepEqual(results.map((part) => part.toolCallId).sort(), ["call-1", "call-2", "call-3"]);
  });
}

// The state, result and isError of each call for assistant-stream.
const assistant = {
  two_calls: [[{ text: "a" }, false], ["b", false]],
  error: [["Error executing tool: the tool failed", true]],
  invalid_arguments: [["Invalid tool arguments JSON", true]],
  policy_denied: [["Permission denied by policy", true]],
  approval_waits: [[cut, true]],
  approval_waits_open: [[undefined, undefined]],
  approved: [[{ written: 3 }, false]],
  denied: [[{ error: "Tool approval denied" }, true]],
  cancelled: [["Cancelled", true]],
  progress: [[{ exitCode: 0 }, false]],
  three_parallel: [["The tool timed out", true], [null, false], [3, false]],
  large: [expected.large[0].slice(1).concat(false), [{ outputRef: "out_1" }, false]],
  done_before_result: [[1, false]],
  interrupted: [[cut, true], [cut, true]],
  failed: [[cut, true]],
};

for (const [name, want] of Object.entries(assistant)) {
  test(`assistant-stream reads ${name}`, async () => {
    const message = await readAssistant(stream(name));
    const tools = message.parts.filter((part) => part.type === "tool-call");
    assert.deepEqual(tools.map((part) => [part.result, part.isError]), want);
    const waits = name === "approval_waits_open";
    assert.ok(tools.every((part) => part.state === (waits ? "call" : "result")));
    const status = { failed: "error", interrupted: "other", approval_waits: "other", approval_waits_open: "tool-calls" }[name] ?? "stop";
    assert.equal(message.status.reason, status);
    if (waits || name === "denied") assert.equal(tools[0].approval.id, "inv-call-1.1");
    if (name === "two_calls") assert.deepEqual(tools.map((part) => part.argsText), ['{"path":"a.md"}', '{"path":"b.md"}']);
  });
}
