// Notes: read, listed, searched, indexed.
#include "api/handlers/crew_handlers.h"

namespace cru::api {
namespace {

using notes::Notes;

json::object to_json(const notes::Note& note) {
  return {{"path", note.path},
          {"title", note.title},
          {"bytes", note.bytes},
          {"changed_at", to_rfc3339(note.changed_at)}};
}

json::object to_json(const notes::IndexState& state) {
  return {{"notes", state.notes},
          {"indexed", state.indexed},
          {"waiting", state.waiting},
          {"is_indexing", state.is_indexing},
          {"method", state.method}};
}

Task<Result<Reply>> read_note(Notes& notes, std::string path, int64_t offset, int64_t limit) {
  auto note = co_await notes.read(std::move(path), offset, limit);
  if (!note) co_return fail(std::move(note.error()));
  auto reply = to_json(*note);
  reply["text"] = note->text;
  reply["truncated"] = note->truncated;
  reply["next_offset"] = note->truncated ? json::value(note->next_offset) : json::value(nullptr);
  co_return Reply(std::move(reply));
}

Task<Result<Reply>> list_notes(Notes& notes, std::string folder, std::string after, int64_t limit) {
  auto list = co_await notes.list(std::move(folder), std::move(after), limit);
  if (!list) co_return fail(std::move(list.error()));
  json::array found;
  for (const auto& note : list->notes) found.push_back(to_json(note));
  co_return Reply(json::object{{"notes", std::move(found)}, {"more", list->more}});
}

Task<Result<Reply>> search_notes(Notes& notes, std::string query, std::string folder, int64_t limit) {
  auto reply = co_await notes.search(std::move(query), std::move(folder), limit);
  if (!reply) co_return fail(std::move(reply.error()));
  json::array results;
  for (const auto& found : reply->results)
    results.push_back({{"path", found.path},
                       {"title", found.title},
                       {"heading", found.heading},
                       {"line", found.line},
                       {"excerpt", found.excerpt},
                       // Three places are all that it means.
                       {"score", static_cast<double>(static_cast<int>(found.score * 1000 + 0.5)) / 1000}});
  co_return Reply(json::object{{"results", std::move(results)},
                               {"notes", reply->notes},
                               {"complete", reply->complete},
                               {"method", reply->method}});
}

Task<Result<Reply>> index_notes(Notes& notes, bool rebuild) {
  auto state = co_await notes.index(rebuild);
  if (!state) co_return fail(std::move(state.error()));
  co_return Reply(to_json(*state));
}

Task<Result<Reply>> notes_state(Notes& notes) { co_return Reply(to_json(co_await notes.state())); }

}  // namespace

void bind_notes(Api& api, Notes& notes) {
  api.bind("read_note", [&notes](const Call&, const json::object& in) {
    return read_note(notes, text(in, "path"), int_or(in, "offset"), int_or(in, "limit", 51200));
  });
  api.bind("list_notes", [&notes](const Call&, const json::object& in) {
    return list_notes(notes, text(in, "folder"), text(in, "after"), int_or(in, "limit", 200));
  });
  api.bind("semantic_search", [&notes](const Call&, const json::object& in) {
    return search_notes(notes, text(in, "query"), text(in, "folder"), int_or(in, "limit", 10));
  });
  api.bind("index_notes", [&notes](const Call&, const json::object& in) {
    return index_notes(notes, bool_or(in, "rebuild"));
  });
  api.bind("notes_state", [&notes](const Call&, const json::object&) { return notes_state(notes); });
}

}  // namespace cru::api
