// The files of chats, made from the rows: one writer a chat at a time.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "approvals/approval_table.h"
#include "crew/chat_files.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "platform/files/files.h"
#include "platform/files/own_folder.h"

namespace cru::crew {
namespace {

constexpr size_t max_session_bytes = 64u << 20;

struct Rows {
  Chat chat;
  std::vector<Subagent> subagents;
  std::vector<Entry> entries;
  std::vector<approvals::Approval> approvals;
  int64_t asked = 0;  ///< approvals in all
};

Result<> write_chat_files(const std::string& root, const Rows& rows, int64_t queue_depth) {
  if (auto made = make_own_folder(root, chat_folder(rows.chat.id)); !made) return fail(made.error());
  auto folder = root + "/" + chat_folder(rows.chat.id);
  auto session = folder + "/session.md";
  auto now = read_file(session, max_session_bytes);
  if (!now && now.error().code != Code::not_found) return fail(std::move(now.error()));
  auto text = render_session(rows.chat, rows.entries, rows.subagents, now ? *now : std::string());
  if (!now || text != *now)
    if (auto written = write_file(session, text); !written) return written;
  // For people and for git: one member a line.
  auto left_out = std::max<int64_t>(rows.asked - static_cast<int64_t>(rows.approvals.size()), 0);
  auto metadata = to_lines(render_metadata(rows.chat, rows.subagents, queue_depth, rows.approvals, left_out));
  auto file = folder + "/metadata.json";
  if (auto old = read_file(file); old && *old == metadata) return {};
  return write_file(file, metadata);
}

}  // namespace

void Crew::update_files(const std::string& chat_id) {
  auto [place, is_new] = file_writers_.try_emplace(chat_id);
  place->second.dirty = true;
  if (is_new) loop_.spawn(write_chat_folder(chat_id));
}

Task<void> Crew::write_chat_folder(std::string chat_id) {
  auto folder = options_.root + "/" + chat_folder(chat_id);
  while (std::exchange(file_writers_[chat_id].dirty, false)) {
    auto have = co_await pool_.run([session = folder + "/session.md"] {
      auto text = read_file(session, max_session_bytes);
      return text ? entries_in(*text) : int64_t(0);
    });
    auto rows = co_await store_.read([chat_id, have](Reader& reader) -> Result<Rows> {
      auto chat = find_chat(reader, chat_id);
      if (!chat) return fail(Code::not_found, "the chat was deleted");
      return Rows{*std::move(chat), subagents_of(reader, chat_id), entries_of(reader, chat_id, have),
                  approvals::list_of_chat(reader, chat_id), approvals::count_of_chat(reader, chat_id)};
    });
    if (!rows) break;
    auto trace_id = rows->chat.trace_id;
    auto written =
        co_await pool_.run([root = options_.root, rows = *std::move(rows), depth = queue_.waiting(chat_id)] {
          return write_chat_files(root, rows, depth);
        });
    if (!written)
      log_error("cannot write the files of a chat", written.error(),
                {{"chat", chat_id}, {"trace_id", trace_id}});
  }
  file_writers_.erase(chat_id);
  files_written_.notify();
}

/// After a crash: removes what a write left half done, and brings the files up to date. A folder that a
/// person took away stays away.
Task<void> Crew::clean_folders(std::vector<Chat> chats) {
  auto there = co_await pool_.run([root = options_.root, chats] {
    std::vector<std::string> found;
    for (const auto& chat : chats) {
      std::error_code error;
      if (!check_own_folder(root, chat_folder(chat.id))) continue;
      auto folder = root + "/" + chat_folder(chat.id);
      if (!std::filesystem::is_directory(folder, error) && chat.ended_at) continue;
      found.push_back(chat.id);
      for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
           at.increment(error))
        if (at->path().filename().string().find(".md.tmp.") != std::string::npos ||
            at->path().filename().string().starts_with("metadata.json.tmp."))
          std::filesystem::remove(at->path(), error);
    }
    return found;
  });
  for (const auto& id : there) update_files(id);
}

Task<void> Crew::wait_for_files(std::string chat_id) {
  // A disk that hangs must not hold up the answer for ever.
  auto deadline = loop_.clock().boot() + 5s;
  while (file_writers_.contains(chat_id) && loop_.clock().boot() < deadline) co_await files_written_.wait(5s);
}

Task<void> Crew::write_subagent_file(Subagent subagent) {
  auto entries = co_await store_.read([id = subagent.task_id](Reader& reader) -> Result<std::vector<Entry>> {
    return entries_of(reader, id);
  });
  if (!entries) co_return;
  auto written =
      co_await pool_.run([root = options_.root, subagent, entries = *std::move(entries)]() -> Result<> {
        auto folder = chat_folder(subagent.chat_id);
        if (auto made = make_own_folder(root, folder); !made) return fail(made.error());
        return write_file(fmt::format("{}/{}/{}.md", root, folder, subagent.name()),
                          render_subagent(subagent, entries));
      });
  if (!written)
    log_error("cannot write the file of a subagent", written.error(),
              {{"task_id", subagent.task_id}, {"trace_id", subagent.trace_id}});
}

}  // namespace cru::crew
