import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameParser } from "./sse.ts";

const stream = 'event: agent.output\nid: 7\ndata: {"a":1}\n\n: hello\n\nevent: heartbeat\ndata: one\ndata: two\n\n';

test("frames are complete, however the text is split", () => {
  const whole = new FrameParser().push(stream);
  assert.deepEqual(whole, [
    { event: "agent.output", id: "7", data: '{"a":1}' },
    { event: "heartbeat", id: null, data: "one\ntwo" },
  ]);
  for (let cut = 1; cut < stream.length; ++cut) {
    const parser = new FrameParser();
    assert.deepEqual([...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))], whole, `cut at ${cut}`);
  }
});

test("a CRLF that is split is one line end", () => {
  const text = "event: a\r\ndata: x\r\n\r\n";
  for (let cut = 1; cut < text.length; ++cut) {
    const parser = new FrameParser();
    assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut)), ...parser.push("data: y\n\n")].map((f) => f.data), ["x", "y"], `cut at ${cut}`);
  }
});

test("a frame is incomplete without its blank line", () => {
  assert.deepEqual(new FrameParser().push("data: half\n"), []);
});

test("a frame without data is ignored, including its event name", () => {
  const parser = new FrameParser();
  assert.deepEqual(parser.push("event: ghost\nid: 3\n\ndata: real\n\n"), [{ event: "message", id: null, data: "real" }]);
});
