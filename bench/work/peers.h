#pragma once
// The work queue's peers, each as its users use it, spoken to in its own protocol without a client library.
#include "protocols.h"

namespace bench {

/// beanstalkd. Its delete is what is durable: it does not write reservations.
class Beanstalkd final : public Protocol {
 public:
  std::string put(int /*client*/, int64_t number) override {
    auto body = body_of(number);
    return "put 5 0 1800 " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
  }
  std::string claim(int /*client*/) override { return "reserve-with-timeout 0\r\n"; }
  std::string complete(int /*client*/, const std::vector<Item>& items) override {
    return "delete " + items.front().id + "\r\n";
  }
  std::string look_up(int /*client*/, const std::string& id) override { return "peek " + id + "\r\n"; }
  size_t reply_length(std::string_view bytes) const override {
    auto line = bytes.find("\r\n");
    if (line == std::string_view::npos) return 0;
    if (!bytes.starts_with("RESERVED ")) return line + 2;
    auto size = bytes.substr(0, line);
    auto whole = line + 2 + static_cast<size_t>(number_in(size.substr(size.rfind(' ') + 1))) + 2;
    return bytes.size() < whole ? 0 : whole;
  }
  void check_put(std::string_view reply) const override { check(reply, "INSERTED "); }
  std::vector<Item> claimed(std::string_view reply) const override {
    return {{std::string(after(reply, "RESERVED ", ' ')), 0}};
  }
  void check_completed(std::string_view reply) const override { check(reply, "DELETED"); }
  void check_done(std::string_view reply) const override { check(reply, "NOT_FOUND"); }

 private:
  static void check(std::string_view reply, std::string_view expected) {
    if (!reply.starts_with(expected)) give_up("unexpected reply", reply);
  }
};

/// Redis as a reliable queue: a list of open items, and for each client a list of what it has claimed
/// (LMOVE), from which a completed item is removed (LREM). Both are in the append-only file before they are
/// answered.
class Redis final : public Protocol {
 public:
  std::string put(int /*client*/, int64_t number) override {
    return command({"LPUSH", "bench:open", body_of(number)});
  }
  std::string claim(int client) override {
    return command({"LMOVE", "bench:open", claimed_by(client), "RIGHT", "LEFT"});
  }
  std::string complete(int client, const std::vector<Item>& items) override {
    return command({"LREM", claimed_by(client), "1", items.front().id});
  }
  /// An empty list does not exist: at the end none of them may.
  std::string look_up(int /*client*/, const std::string& /*id*/) override {
    std::vector<std::string> words = {"EXISTS", "bench:open"};
    for (int client = 0; client < 64; ++client) words.push_back(claimed_by(client));
    return command(words);
  }
  size_t reply_length(std::string_view bytes) const override {
    auto line = bytes.find("\r\n");
    if (line == std::string_view::npos) return 0;
    if (!bytes.starts_with('$')) return line + 2;
    auto size = number_in(bytes.substr(1, line - 1));
    if (size < 0) return line + 2;
    auto whole = line + 2 + static_cast<size_t>(size) + 2;
    return bytes.size() < whole ? 0 : whole;
  }
  void check_put(std::string_view reply) const override {
    if (!reply.starts_with(':')) give_up("unexpected reply", reply);
  }
  std::vector<Item> claimed(std::string_view reply) const override {
    if (!reply.starts_with("$100\r\n")) give_up("unexpected reply", reply);
    return {{std::string(reply.substr(6, 100)), 0}};
  }
  void check_completed(std::string_view reply) const override {
    if (reply != ":1\r\n") give_up("unexpected reply", reply);
  }
  void check_done(std::string_view reply) const override {
    if (reply != ":0\r\n") give_up("unexpected reply", reply);
  }

 private:
  static std::string claimed_by(int client) { return "bench:claimed:" + std::to_string(client); }
  static std::string command(const std::vector<std::string>& words) {
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const auto& word : words) text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    return text;
  }
};

/// PostgreSQL as a queue: one table, a claim by FOR UPDATE SKIP LOCKED and a completion, each a transaction
/// of its own and a prepared statement. The table is made by bench/work/peers.mjs.
class PostgreSql final : public Protocol {
 public:
  std::string greeting(int /*client*/) override {
    std::string startup = number32(3 << 16);
    for (const char* word : {"user", "bench", "database", "postgres"}) startup += terminated(word);
    startup += '\0';
    return number32(startup.size() + 4) + startup +
           prepare("put", "INSERT INTO work (body) VALUES ($1::text)") +
           prepare("claim",
                   "UPDATE work SET state = 'claimed', worker = $1::text, claimed_at = now(), "
                   "attempts = attempts + 1 WHERE id = (SELECT id FROM work WHERE state = 'open' ORDER BY id "
                   "FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id, body") +
           prepare("complete",
                   "UPDATE work SET state = 'completed', completed_at = now() "
                   "WHERE id = $1::text::bigint AND worker = $2::text AND state = 'claimed'") +
           prepare("look_up", "SELECT state || ' ' || attempts FROM work WHERE id = $1::text::bigint") +
           message('S', "");
  }
  std::string put(int /*client*/, int64_t number) override { return execute("put", {body_of(number)}); }
  std::string claim(int client) override { return execute("claim", {worker(client)}); }
  std::string complete(int client, const std::vector<Item>& items) override {
    return execute("complete", {items.front().id, worker(client)});
  }
  std::string look_up(int /*client*/, const std::string& id) override { return execute("look_up", {id}); }

  /// The answer to the greeting's first part, which begins with an authentication and ends like a reply.
  size_t to_skip(std::string_view bytes) const override {
    return bytes.starts_with('R') ? reply_length(bytes) : 0;
  }
  /// Messages up to "ready for query".
  size_t reply_length(std::string_view bytes) const override {
    for (size_t at = 0; bytes.size() - at >= 5;) {
      auto whole = 1 + static_cast<size_t>(number_at(bytes, at + 1));
      if (bytes.size() - at < whole) return 0;
      if (bytes[at] == 'E') give_up("refused", bytes.substr(at, whole));
      at += whole;
      if (bytes[at - whole] == 'Z') return at;
    }
    return 0;
  }
  void check_put(std::string_view reply) const override { check_done_as(reply, "INSERT 0 1"); }
  std::vector<Item> claimed(std::string_view reply) const override {
    check_done_as(reply, "UPDATE 1");
    return {{first_column(reply), 0}};
  }
  void check_completed(std::string_view reply) const override { check_done_as(reply, "UPDATE 1"); }
  void check_done(std::string_view reply) const override {
    if (first_column(reply) != "completed 1") give_up("unexpected reply", reply);
  }

 private:
  static std::string worker(int client) { return "bench-" + std::to_string(client); }
  static std::string terminated(std::string_view text) { return std::string(text) + '\0'; }
  static std::string number32(size_t value) {
    std::string bytes;
    for (unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
  }
  static std::string number16(size_t value) { return number32(value).substr(2); }
  static int32_t number_at(std::string_view bytes, size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return static_cast<int32_t>(value);
  }
  static std::string message(char kind, const std::string& body) {
    return kind + number32(body.size() + 4) + body;
  }
  static std::string prepare(std::string_view name, std::string_view sql) {
    return message('P', terminated(name) + terminated(sql) + number16(0));
  }
  static std::string execute(std::string_view name, const std::vector<std::string>& values) {
    std::string bind = terminated("") + terminated(name) + number16(0) + number16(values.size());
    for (const auto& value : values) bind += number32(value.size()) + value;
    return message('B', bind + number16(0)) + message('E', terminated("") + number32(0)) + message('S', "");
  }
  /// The body of the first message of this kind, or nothing.
  static std::string_view find(std::string_view reply, char kind) {
    for (size_t at = 0; at < reply.size();) {
      auto length = static_cast<size_t>(number_at(reply, at + 1));
      if (reply[at] == kind) return reply.substr(at + 5, length - 4);
      at += 1 + length;
    }
    return {};
  }
  static void check_done_as(std::string_view reply, std::string_view expected) {
    if (!find(reply, 'C').starts_with(expected)) give_up("unexpected reply", reply);
  }
  static std::string first_column(std::string_view reply) {
    auto data = find(reply, 'D');
    if (data.size() < 6) give_up("unexpected reply", reply);
    return std::string(data.substr(6, static_cast<size_t>(number_at(data, 2))));
  }
};

}  // namespace bench
