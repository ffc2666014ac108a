// Handoffs and memory.
#include "api/handlers/coordination_handlers.h"

namespace cru::api {
namespace {

using coordination::Handoff;
using coordination::HandoffFilter;
using coordination::Handoffs;
using coordination::Memories;
using coordination::Memory;
using coordination::Recall;
using coordination::Who;

Task<Result<Reply>> write_handoff(Handoffs& handoffs, Result<Who> who, Handoff handoff) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await handoffs.write(*std::move(who), std::move(handoff)));
}

Task<Result<Reply>> read_handoff(Handoffs& handoffs, Result<Who> who, HandoffFilter filter, int64_t limit) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await handoffs.read(*std::move(who), std::move(filter), limit));
}

Task<Result<Reply>> list_handoffs(Handoffs& handoffs, Result<Who> who, HandoffFilter filter, int64_t limit) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await handoffs.list(*std::move(who), std::move(filter), limit));
}

Task<Result<Reply>> get_handoff(Handoffs& handoffs, Result<Who> who, std::string id) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await handoffs.find(*std::move(who), std::move(id)));
}

Task<Result<Reply>> list_changesets(Handoffs& handoffs, Result<Who> who, std::string session_id,
                                    int64_t limit) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await handoffs.changesets(*std::move(who), std::move(session_id), limit));
}

Task<Result<Reply>> remember(Memories& memories, Result<Who> who, Memory memory) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await memories.remember(*std::move(who), std::move(memory)));
}

Task<Result<Reply>> recall(Memories& memories, Result<Who> who, Recall recall) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await memories.recall(*std::move(who), std::move(recall)));
}

Handoff to_handoff(const json::object& in) {
  return {.id = {},
          .agent_name = {},
          .session_id = {},
          .summary = text(in, "summary"),
          .completed_work = texts_at(in, "completed_work"),
          .in_progress = texts_at(in, "in_progress"),
          .decisions = texts_at(in, "decisions"),
          .next_steps = texts_at(in, "next_steps"),
          .relevant_files = texts_at(in, "relevant_files")};
}

HandoffFilter to_filter(const json::object& in) {
  HandoffFilter filter{.agent_name = text(in, "agent_name"), .query = text(in, "query")};
  if (in.contains("empty")) filter.empty = bool_or(in, "empty");
  return filter;
}

Memory to_memory(const json::object& in) {
  Memory memory{.memory_id = {},
                .agent_id = {},
                .session_id = {},
                .event_type = text(in, "event_type"),
                .summary = text(in, "summary"),
                .outcome = text(in, "outcome"),
                .lessons = texts_at(in, "lessons"),
                .tags = texts_at(in, "tags")};
  if (const auto* details = in.if_contains("details")) memory.details = *details;
  return memory;
}

double number_at(const json::object& in, std::string_view key) {
  json::error_code error;
  const auto* value = in.if_contains(key);
  double number = value ? value->to_number<double>(error) : 0;
  return error ? 0 : number;
}

}  // namespace

void bind_handoffs(Api& api, Handoffs& handoffs, Memories& memories) {
  api.bind("write_handoff", [&handoffs](const Call& call, const json::object& in) {
    return write_handoff(handoffs, who_of("write_handoff", call, in), to_handoff(in));
  });
  api.bind("read_handoff", [&handoffs](const Call& call, const json::object& in) {
    return read_handoff(handoffs, who_of("read_handoff", call, in), to_filter(in), int_or(in, "limit", 1));
  });
  api.bind("list_handoffs", [&handoffs](const Call& call, const json::object& in) {
    return list_handoffs(handoffs, who_of("list_handoffs", call, in), to_filter(in), int_or(in, "limit", 20));
  });
  api.bind("get_handoff", [&handoffs](const Call& call, const json::object& in) {
    return get_handoff(handoffs, who_of("get_handoff", call, in), text(in, "id"));
  });
  api.bind("list_changesets", [&handoffs](const Call& call, const json::object& in) {
    return list_changesets(handoffs, who_of("list_changesets", call, in), text(in, "session_id"),
                           int_or(in, "limit", 20));
  });
  api.bind("remember", [&memories](const Call& call, const json::object& in) {
    return remember(memories, who_of("remember", call, in), to_memory(in));
  });
  api.bind("recall", [&memories](const Call& call, const json::object& in) {
    return recall(memories, who_of("recall", call, in),
                  {.query = text(in, "query"),
                   .event_type = text(in, "event_type"),
                   .tags = texts_at(in, "tags"),
                   .limit = int_or(in, "limit", 10),
                   .min_relevance = number_at(in, "min_relevance")});
  });
}

}  // namespace cru::api
