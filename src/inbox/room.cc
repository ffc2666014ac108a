#include "inbox/room.h"

#include <fmt/format.h>

#include "members/member_table.h"

namespace cru::inbox {
namespace {

/// More than any agent asks at once, and in all as many as a list shows.
constexpr Amount most_of_asker{.count = 64, .bytes = 1 << 20}, most_in_all{.count = 1000, .bytes = 16 << 20};
/// An agent with no more than this has a place even where others have filled the rest, up to twice as much.
constexpr Amount reserved_for_asker{.count = 4, .bytes = 64 << 10};
constexpr Amount most_with_reserve{.count = 2 * most_in_all.count, .bytes = 2 * most_in_all.bytes};

#define QUESTION_AMOUNT                                                                         \
  "SELECT count(*), coalesce(sum(length(CAST(prompt AS BLOB)) + length(CAST(options AS BLOB)) " \
  "+ length(CAST(reply_context AS BLOB))), 0) FROM questions WHERE status = 'pending'"

Result<> check_amount(const Amount& waiting, const Amount& most, std::string_view whose) {
  constexpr auto next = "wait for the answers, or ask several things in one question";
  if (waiting.count > most.count)
    return fail(Code::overloaded,
                fmt::format("{} questions{} wait already, which is as many as can wait", most.count, whose),
                {}, next);
  if (waiting.bytes > most.bytes)
    return fail(
        Code::overloaded,
        fmt::format("with this one, the questions{} that wait would hold {} bytes, and {} is the most", whose,
                    waiting.bytes, most.bytes),
        {}, next);
  return {};
}

}  // namespace

Amount waiting_in_all(Reader& reader) {
  auto row = reader.row(QUESTION_AMOUNT);
  return {row->integer(0), row->integer(1)};
}

Amount waiting_of(Reader& reader, const std::vector<std::string>& members) {
  auto row = reader.row(QUESTION_AMOUNT " AND member IN (SELECT value FROM json_each(?))",
                        to_text(json::value_from(members)));
  return {row->integer(0), row->integer(1)};
}

Result<> check_room(Reader& reader, const Question& asked) {
  if (!asked.member.empty()) {
    // It can begin as many sessions as it likes.
    std::vector<std::string> askers{asked.member};
    auto member = members::find_member(reader, asked.member);
    for (const auto& one : members::list_members_in(reader, member ? member->scope : std::string()))
      if (one.id != asked.member) askers.push_back(one.id);
    auto own = waiting_of(reader, askers);
    if (auto room = check_amount(own, most_of_asker, " of this agent"); !room) return room;
    if (own.count <= reserved_for_asker.count && own.bytes <= reserved_for_asker.bytes)
      return check_amount(waiting_in_all(reader), most_with_reserve, "");
  }
  return check_amount(waiting_in_all(reader), most_in_all, "");
}

}  // namespace cru::inbox
