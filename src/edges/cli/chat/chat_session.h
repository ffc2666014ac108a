#pragma once
/// ChatSession: one chat as a person holds it: begun with the first message, turn by turn, and ended. Shows
/// what happens; survives restarts of the daemon.
#include <memory>
#include <string>

#include "edges/cli/chat/chat_turn.h"

namespace cru::cli {

class ChatSession {
 public:
  enum class End { well, failed, cancelled, left };
  /// `wanted` is start_chat's input without a message.
  ChatSession(Context& context, Signals& signals, json::object wanted, bool streaming);

  /// Takes up a chat that is there already, by its id or the beginning of it. A turn that is running is
  /// followed to its end.
  Result<End> resume(const std::string& id);
  /// Says something and shows the answer. Errors: the daemon's; the message was not taken.
  Result<End> say(const std::string& message);
  /// Ends the chat, if it was begun.
  Result<> end();
  Result<> cancel();

  bool has_begun() const { return !id_.empty(); }
  const std::string& id() const { return id_; }
  std::string folder() const { return ".crucible/sessions/" + id_; }
  const std::string& agent() const { return agent_; }
  /// As it is now: GET /chats/ID, with the entries after `after`.
  Result<json::object> look(int64_t after, int64_t limit = 1);
  /// What was typed during a turn and was not meant for what was asked meanwhile.
  std::string take_typed_ahead() { return inbox_ ? inbox_->take_typed_ahead() : std::string(); }
  void use_model(const std::string& model) { wanted_["model"] = model; }
  const json::object& wanted() const { return wanted_; }

 private:
  Result<> begin(const std::string& message);
  Result<> pass_over();
  Result<> send(const std::string& message);
  bool was_taken(const std::string& message);
  Result<End> follow();
  void watch_inbox();
  bool go_on_after(int signal);
  bool turn_is_over();
  std::string whole_entry(int64_t n);

  Context& context_;
  Signals& signals_;
  json::object wanted_;
  std::string id_, agent_;
  TurnPrinter printer_;
  Client events_;
  EventCursor cursor_;
  std::unique_ptr<InboxPrompt> inbox_;  ///< where a person is at the terminal
  int64_t last_entry_ = 0;
  bool cancel_sent_ = false;
};

}  // namespace cru::cli
