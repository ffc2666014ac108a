#include "handoffs/memories_service.h"

#include "base/id.h"
#include "base/text.h"

namespace cru::coordination {
namespace {

Done remembered(Tx& tx, const Who& who, const Memory& memory, std::string_view action, bool changed) {
  if (changed)
    tx.emit({"memory.remembered",
             memory.agent_id,
             {{"memory_id", memory.memory_id},
              {"agent_id", memory.agent_id},
              {"member", json_or_null(who.member)},
              {"event_type", memory.event_type},
              {"summary", truncate(memory.summary, 200)},
              {"tags", json::value_from(memory.tags)},
              {"action", action}}});
  return {.reply = {{"success", true}, {"memory_id", memory.memory_id}, {"action", action}},
          .changed = changed};
}

}  // namespace

Task<Result<Done>> Memories::remember(Who who, Memory memory) {
  memory.memory_id = uuid_from(random_.bytes16());
  memory.agent_id = who.agent_id;
  memory.session_id = who.session_id;
  memory.tags = tidy_tags(std::move(memory.tags));
  auto now = sessions_.now();
  auto once = who.once;
  co_return co_await write_once(
      store_, once, [listeners = sessions_.listeners(), who, memory, now](Tx& tx) -> Result<Done> {
        auto moment = now;
        moment.wall = tx.now();
        if (auto session = admit_session(tx, who, moment, *listeners); !session)
          return fail(std::move(session.error()));
        if (auto first = find_same(tx, memory, tx.now() - same_memory_within)) {
          bool grown = merge(*first, memory);
          if (grown) update_memory(tx, *first);
          return remembered(tx, who, *first, "deduplicated", grown);
        }
        auto added = memory;
        added.created_at = tx.now();
        add_memory(tx, added);
        return remembered(tx, who, added, "created", true);
      });
}

Task<Result<Done>> Memories::recall(Who who, Recall recall) {
  recall.tags = tidy_tags(std::move(recall.tags));
  auto now = sessions_.now().wall;
  if (auto seen = co_await sessions_.seen(std::move(who)); !seen) co_return fail(std::move(seen.error()));
  co_return co_await store_.read([recall, now](Reader& reader) -> Result<Done> {
    json::array memories;
    for (const auto& found : best_of(find_candidates(reader, recall), recall, now))
      memories.push_back(to_json(found.memory, found.score));
    return Done{.reply = {{"memories", std::move(memories)}}, .changed = false};
  });
}

}  // namespace cru::coordination
