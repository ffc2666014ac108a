#pragma once
/// What a client of /ws may say: each message is an operation of the table in other words, or a word to the
/// connection itself. Rules only: docs/formats/websocket.md is the contract.
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace cru::edges {

inline constexpr size_t max_request_id_bytes = 64;
inline constexpr std::string_view default_user = "player_0";

/// A field as the client writes it ("agent_config.initial_position.x") and as the operation calls it ("x").
struct MessageField {
  std::string_view written;
  std::string_view field;
  bool required = false;  ///< here, though the operation can do without
};

struct MessageKind {
  std::string_view type;
  std::string_view operation = {};  ///< empty: the connection itself answers
  std::string_view answer = {};     ///< the type of the answer; empty: there is none
  std::vector<MessageField> fields = {};
  bool is_of_user = false;                   ///< the operation is told the connection's user
  bool is_once = false;                      ///< may bring an idempotency_key
  std::string_view wrap = {};                ///< the member of the answer that holds the whole reply
  std::vector<std::string_view> shown = {};  ///< the reply's members in the answer; empty: all
};
std::span<const MessageKind> message_kinds();

struct Message {
  const MessageKind* kind = nullptr;
  std::string request_id;       ///< an echo, no more
  std::string idempotency_key;  ///< the operation's request id: repeated, it gets the stored reply
  json::object input;           ///< of the operation, or the message's own fields
};
struct Refused {
  Error error;  ///< invalid_argument, naming the field as the client wrote it
  std::string request_id;
};
/// `user` is whoever joined on this connection, else default_user.
std::expected<Message, Refused> read_message(std::string_view text, std::string_view user);

/// What goes back for the operation's reply; empty if nothing does.
std::string answer_text(const Message& message, const json::object& reply);
/// An error of the operation in the client's words: its field as it was written.
Error in_clients_words(const MessageKind& kind, Error error);

}  // namespace cru::edges
