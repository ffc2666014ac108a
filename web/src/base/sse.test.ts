import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameParser } from "./sse.ts";

const stream = 'event: agent.output\nid: 7\ndata: {"a":1}\n\n: hello\n\nevent: heartbeat\ndata: one\ndata: two\n\n';

test("frames come out whole, whatever the pieces they arrive in", () => {
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

test("a CRLF cut in two is one line end", () => {
  const text = "event: a\r\ndata: x\r\n\r\n";
  for (let cut = 1; cut < text.length; ++cut) {
    const parser = new FrameParser();
    assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut)), ...parser.push("data: y\n\n")].map((f) => f.data), ["x", "y"], `cut at ${cut}`);
  }
});

test("a frame without its blank line is not a frame yet", () => {
  assert.deepEqual(new FrameParser().push("data: half\n"), []);
});

test("a frame without data is none, and leaves no name behind", () => {
  const parser = new FrameParser();
  assert.deepEqual(parser.push("event: ghost\nid: 3\n\ndata: real\n\n"), [{ event: "message", id: null, data: "real" }]);
});
