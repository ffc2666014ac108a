#include "handoffs/handoffs_service.h"

#include "base/id.h"

namespace cru::coordination {
namespace {

Done summary_required() {
  return {.reply = {{"success", false},
                    {"error", "summary_required"},
                    {"field", "summary"},
                    {"message", "a summary of the current status is required"}},
          .changed = false,
          .status = 400};
}

Done as_list(const std::vector<Handoff>& handoffs) {
  json::array list;
  for (const auto& handoff : handoffs) list.push_back(to_json(handoff));
  return {.reply = {{"handoffs", std::move(list)}}, .changed = false};
}

}  // namespace

Task<Result<Done>> Handoffs::write(Who who, Handoff handoff) {
  handoff.id = uuid_from(random_.bytes16());
  handoff.session_id = who.session_id;
  auto now = sessions_.now();
  auto once = who.once;
  co_return co_await write_once(
      store_, once, [listeners = sessions_.listeners(), who, handoff, now](Tx& tx) -> Result<Done> {
        auto moment = now;
        moment.wall = tx.now();
        if (auto session = admit_session(tx, who, moment, *listeners); !session)
          return fail(std::move(session.error()));
        if (!has_summary(handoff)) return summary_required();
        if (auto sized = check_size(handoff); !sized) return fail(std::move(sized.error()));
        auto written = handoff;
        written.agent_name = handoff_name_of(tx, who.agent_id, who.agent_type);
        written.written_by = who.agent_id;
        written.created_at = tx.now();
        written.member = who.member;
        insert_handoff(tx, written);
        return Done{.reply = {{"success", true}, {"handoff_id", written.id}}};
      });
}

Task<Result<Done>> Handoffs::read(Who who, HandoffFilter filter, int64_t limit) {
  if (auto seen = co_await sessions_.seen(who); !seen) co_return fail(std::move(seen.error()));
  co_return co_await store_.read([who, filter, limit](Reader& reader) -> Result<Done> {
    auto own = filter;
    if (own.agent_name.empty()) own.agent_name = handoff_name_of(reader, who.agent_id, who.agent_type);
    return as_list(list_handoffs(reader, own, limit));
  });
}

Task<Result<Done>> Handoffs::list(Who who, HandoffFilter filter, int64_t limit) {
  if (auto seen = co_await sessions_.seen(std::move(who)); !seen) co_return fail(std::move(seen.error()));
  co_return co_await store_.read([filter, limit](Reader& reader) -> Result<Done> {
    return as_list(list_handoffs(reader, filter, limit));
  });
}

Task<Result<Done>> Handoffs::find(Who who, std::string id) {
  if (auto seen = co_await sessions_.seen(std::move(who)); !seen) co_return fail(std::move(seen.error()));
  struct Found {
    Handoff handoff;
    std::optional<Changeset> changes;
  };
  auto found = co_await store_.read([id](Reader& reader) -> Result<Found> {
    auto handoff = find_handoff(reader, id);
    if (!handoff)
      return fail(Code::not_found, "handoff not found or ambiguous: " + id, "id", "see: cru handoffs list");
    auto changes = changes_of(reader, *handoff);
    return Found{*std::move(handoff), std::move(changes)};
  });
  if (!found) co_return fail(std::move(found.error()));
  Done done{.reply = to_json(found->handoff), .changed = false};
  done.reply["changeset"] = nullptr;
  if (found->changes) done.reply["changeset"] = co_await tell(*std::move(found->changes));
  co_return done;
}

Task<json::object> Handoffs::tell(Changeset changeset) {
  auto told = to_json(changeset);
  auto commits = co_await pool_.run([root = root_, base = changeset.base, head = changeset.head] {
    return commits_between(root, base, head);
  });
  told["commits"] = commits ? json::value(to_json(*commits)) : json::value(nullptr);
  told["more_commits"] = commits && commits->is_cut;
  co_return told;
}

Task<Result<Done>> Handoffs::changesets(Who who, std::string session_id, int64_t limit) {
  if (auto seen = co_await sessions_.seen(std::move(who)); !seen) co_return fail(std::move(seen.error()));
  co_return co_await store_.read([session_id, limit](Reader& reader) -> Result<Done> {
    json::array list;
    for (const auto& changeset : list_changesets(reader, session_id, limit))
      list.push_back(to_json(changeset));
    return Done{.reply = {{"changesets", std::move(list)}}, .changed = false};
  });
}

}  // namespace cru::coordination
