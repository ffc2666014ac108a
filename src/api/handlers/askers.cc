// Who asks a person, in the words of every other list.
#include "api/handlers/handlers.h"
#include "crew/crew_table.h"
#include "members/member_table.h"

namespace cru::api {

namespace {

struct AskedBy {
  std::string task_id, member;
};

/// The chat that a question is asked in: by the program that thinks for it, or by the chat itself. A run that
/// is named like a chat is another member.
std::string chat_of(Reader& reader, const AskedBy& by) {
  if (auto owner = crew::owner_of_run(reader, by.task_id)) return owner->chat_id;
  if (by.member != members::kept_member_id(by.task_id)) return {};
  auto chat = crew::find_chat(reader, by.task_id);
  return chat ? chat->id : std::string();
}

}  // namespace

Task<Result<>> add_chats(Store& store, json::array& questions) {
  std::vector<AskedBy> askers;
  for (const auto& row : questions) {
    const auto& question = row.as_object();
    askers.push_back({std::string(text_or(question, "task_id")), std::string(text_or(question, "member"))});
  }
  auto found = co_await store.read([askers](Reader& reader) -> Result<std::vector<std::string>> {
    std::vector<std::string> chats;
    for (const auto& by : askers) chats.push_back(chat_of(reader, by));
    return chats;
  });
  if (!found) co_return fail(std::move(found.error()));
  for (size_t i = 0; i < questions.size(); ++i)
    questions[i].as_object()["chat_id"] = json_or_null((*found)[i]);
  co_return Result<>();
}

Task<Result<>> add_askers(Store& store, json::array& rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.emplace_back(text_or(row.as_object(), "member"));
  struct Asker {
    std::string name, parent, doing;
  };
  auto found = co_await store.read([ids](Reader& reader) -> Result<std::vector<Asker>> {
    std::vector<Asker> askers;
    for (const auto& id : ids) {
      auto member = id.empty() ? std::nullopt : members::find_member(reader, id);
      auto parent =
          member && !member->parent.empty() ? members::find_member(reader, member->parent) : std::nullopt;
      askers.push_back({member ? member->name : "", parent ? parent->name : "", member ? member->doing : ""});
    }
    return askers;
  });
  if (!found) co_return fail(std::move(found.error()));
  for (size_t i = 0; i < rows.size(); ++i) {
    auto& row = rows[i].as_object();
    const auto& [name, parent, doing] = (*found)[i];
    row["asker"] = name.empty() ? std::string(text_or(row, "agent", text_or(row, "task_id"))) : name;
    row["child_of"] = json_or_null(parent);
    if (text_or(row, "task").empty()) row["task"] = json_or_null(doing);
  }
  co_return Result<>();
}

}  // namespace cru::api
