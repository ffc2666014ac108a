#pragma once
// How the queues are spoken to: requests made, replies told apart and understood, with as little work as can
// be, because the driver shares the machine with what it measures. Ours is here, the others are in peers.h.
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// A benchmark that went wrong has no figure.
[[noreturn]] inline void give_up(std::string_view why, std::string_view what = "") {
  std::fprintf(stderr, "claim_complete: %.*s: %.*s\n", static_cast<int>(why.size()), why.data(),
               static_cast<int>(what.size()), what.data());
  std::exit(1);
}

inline int64_t number_in(std::string_view text) {
  int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// What follows `key` in `text`, up to `end`; gives up without it.
inline std::string_view after(std::string_view text, std::string_view key, char end) {
  auto at = text.find(key);
  if (at == std::string_view::npos) give_up("unexpected reply", text);
  auto rest = text.substr(at + key.size());
  return rest.substr(0, rest.find(end));
}

/// A claimed item; `token` proves the claim where there is such a thing.
struct Item {
  std::string id;
  int64_t token = 0;
};

/// 100 bytes, the same for every queue.
inline std::string body_of(int64_t number) {
  std::string body = "item " + std::to_string(number) + ' ';
  body.resize(100, '.');
  return body;
}

class Protocol {
 public:
  virtual ~Protocol() = default;
  /// Sent once on each connection and answered once; empty: nothing is.
  virtual std::string greeting(int /*client*/) { return {}; }
  virtual std::string put(int client, int64_t number) = 0;
  virtual std::string claim(int client) = 0;
  virtual std::string complete(int client, const std::vector<Item>& items) = 0;
  virtual std::string look_up(int client, const std::string& id) = 0;

  /// Length of what stands before the reply and is none: notifications.
  virtual size_t to_skip(std::string_view /*bytes*/) const { return 0; }
  /// Length of the whole reply at the beginning of `bytes`; 0 if it is not all there.
  virtual size_t reply_length(std::string_view bytes) const = 0;
  /// These give up when the reply says anything but success.
  virtual void check_put(std::string_view reply) const = 0;
  virtual std::vector<Item> claimed(std::string_view reply) const = 0;
  virtual void check_completed(std::string_view reply) const = 0;
  /// That the item looked up was completed, by its first claim.
  virtual void check_done(std::string_view reply) const = 0;
};

/// Replies of cru, over either wire. With a batch of more than one, each request is for that many items.
class CruReplies : public Protocol {
 public:
  explicit CruReplies(int batch) : batch_(batch) {}
  void check_put(std::string_view reply) const override { check(reply, R"("success":true)"); }
  std::vector<Item> claimed(std::string_view reply) const override {
    check(reply, R"("success":true)");
    std::vector<Item> items;
    constexpr std::string_view id = R"("task_id":")";
    for (size_t at = 0; (at = reply.find(id, at)) != std::string_view::npos; at += id.size())
      items.push_back({std::string(after(reply.substr(at), id, '"')),
                       number_in(after(reply.substr(at), R"("fencing_token":)", ' '))});
    return items;
  }
  void check_completed(std::string_view reply) const override { check(reply, R"("status":"completed")"); }
  void check_done(std::string_view reply) const override {
    check(reply, R"("status":"completed")");
    check(reply, R"("attempts":1)");
  }

 protected:
  static void check(std::string_view reply, std::string_view expected) {
    if (reply.find(expected) == std::string_view::npos) give_up("unexpected reply", reply);
  }
  /// One that no other run of this program has made.
  std::string request_id() { return prefix_ + std::to_string(++requests_); }
  static std::string uuid_of(int client) {
    char text[40];
    std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012d", client);
    return text;
  }
  static std::string put_input(int64_t number) {
    return R"({"task_type":"bench","description":")" + body_of(number) + R"("})";
  }
  std::string claim_input() const {
    return batch_ > 1 ? R"({"max_items":)" + std::to_string(batch_) + "}" : std::string("{}");
  }
  std::string complete_input(const std::vector<Item>& items, bool with_id) const {
    std::string list;
    for (const auto& item : items)
      list += (list.empty() ? "" : ",") +
              (with_id || batch_ > 1 ? R"({"task_id":")" + item.id + R"(",)" : std::string("{")) +
              R"("success":true,"fencing_token":)" + std::to_string(item.token) + "}";
    return batch_ > 1 ? R"({"items":[)" + list + "]}" : list;
  }
  const int batch_;

 private:
  std::string prefix_ = std::to_string(::time(nullptr)) + "-" + std::to_string(::getpid()) + "-";
  int64_t requests_ = 0;
};

/// HTTP over the daemon's socket; each client is an agent with a session of its own, each request has an id.
class CruHttp final : public CruReplies {
 public:
  using CruReplies::CruReplies;
  std::string put(int client, int64_t number) override { return post(client, "/work", put_input(number)); }
  std::string claim(int client) override { return post(client, "/work/claim", claim_input()); }
  std::string complete(int client, const std::vector<Item>& items) override {
    return post(client, batch_ > 1 ? "/work/complete" : "/work/" + items.front().id + "/complete",
                complete_input(items, false));
  }
  std::string look_up(int client, const std::string& id) override {
    return "GET /work/" + id + " HTTP/1.1\r\n" + identity(client) + "\r\n";
  }
  size_t reply_length(std::string_view bytes) const override {
    auto head = bytes.find("\r\n\r\n");
    if (head == std::string_view::npos) return 0;
    if (!bytes.starts_with("HTTP/1.1 20")) give_up("refused", bytes);
    auto length = static_cast<size_t>(number_in(after(bytes.substr(0, head + 2), "Content-Length: ", '\r')));
    return bytes.size() < head + 4 + length ? 0 : head + 4 + length;
  }

 private:
  static std::string identity(int client) {
    return "Host: localhost\r\nCru-Agent-Id: bench-" + std::to_string(client) +
           "\r\nCru-Agent-Type: bench\r\nCru-Session-Id: " + uuid_of(client) + "\r\n";
  }
  std::string post(int client, const std::string& path, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\n" + identity(client) + "Cru-Request-Id: " + request_id() +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
};

/// The socket behind `cru mcp`: a hello, then numbered lines of JSON-RPC.
class CruMcp final : public CruReplies {
 public:
  using CruReplies::CruReplies;
  std::string greeting(int client) override {
    auto number = std::to_string(client);
    return R"({"cru_mcp":1,"agent_id":"bench-)" + number + R"(","agent_type":"bench","session_id":")" +
           uuid_of(client) + R"(","instance":")" + request_id() + "\"}\n" +
           line(
               "initialize",
               R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}})") +
           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
  }
  std::string put(int /*client*/, int64_t number) override { return call("submit_work", put_input(number)); }
  std::string claim(int /*client*/) override { return call("get_work", claim_input()); }
  std::string complete(int /*client*/, const std::vector<Item>& items) override {
    return call("complete_work", complete_input(items, true));
  }
  std::string look_up(int /*client*/, const std::string& id) override {
    return line("resources/read", R"({"uri":"work://)" + id + "\"}");
  }
  size_t reply_length(std::string_view bytes) const override {
    auto end = bytes.find('\n');
    return end == std::string_view::npos ? 0 : end + 1;
  }
  /// An answer begins with its line's number; what begins otherwise is the welcome or a notification.
  size_t to_skip(std::string_view bytes) const override {
    size_t skipped = 0;
    while (bytes.starts_with('{')) {
      auto length = reply_length(bytes);
      if (length == 0) break;
      bytes.remove_prefix(length);
      skipped += length;
    }
    return skipped;
  }
  void check_done(std::string_view reply) const override {  // a resource is JSON within JSON
    check(reply, R"(\"status\":\"completed\")");
    check(reply, R"(\"attempts\":1)");
  }

 private:
  std::string call(std::string_view tool, const std::string& input) {
    return line("tools/call", R"({"name":")" + std::string(tool) + R"(","arguments":)" + input + "}");
  }
  /// Its number is what makes a line that is sent again the same line.
  std::string line(std::string_view method, const std::string& params) {
    auto number = std::to_string(++lines_);
    return number + R"( {"jsonrpc":"2.0","id":)" + number + R"(,"method":")" + std::string(method) +
           R"(","params":)" + params + "}\n";
  }
  int64_t lines_ = 0;
};

}  // namespace bench
