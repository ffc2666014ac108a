#include "sessions/changeset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "platform/process/git.h"
#include "store/columns.h"

namespace cru::coordination {
namespace {

constexpr size_t max_files_told = 1000;
constexpr size_t max_commits = 100;
constexpr size_t max_columns = 200;  ///< of an author and of a subject

constexpr auto changeset_columns = columns<Changeset>(
    "changesets", column("id", &Changeset::id), column("session_id", &Changeset::session_id),
    column<TextOrNull>("base", &Changeset::base), column<TextOrNull>("head", &Changeset::head),
    column("files", &Changeset::files), column("created_at", &Changeset::created_at));

/// What git may be given as a commit: never an option.
bool is_commit_id(std::string_view text) {
  return text.size() >= 40 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// `text` up to `mark`, and what is behind it.
std::string_view take_until(std::string_view& text, char mark) {
  auto end = std::min(text.find(mark), text.size());
  auto taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

Commit to_commit(std::string_view line) {
  Commit commit;
  commit.id = take_until(line, '\x1f');
  auto seconds = take_until(line, '\x1f');
  int64_t since_epoch = 0;
  std::from_chars(seconds.data(), seconds.data() + seconds.size(), since_epoch);
  commit.created_at = from_millis(since_epoch * 1000);
  commit.author = truncate(valid_utf8(take_until(line, '\x1f')), max_columns);
  commit.subject = truncate(valid_utf8(line), max_columns);
  return commit;
}

}  // namespace

json::object to_json(const Changeset& changeset) {
  json::array files;
  for (size_t i = 0; i < std::min(changeset.files.size(), max_files_told); ++i)
    files.emplace_back(changeset.files[i]);
  return {{"id", json_or_null(changeset.id)},
          {"session_id", changeset.session_id},
          {"base", json_or_null(changeset.base)},
          {"head", json_or_null(changeset.head)},
          {"files", std::move(files)},
          {"file_count", changeset.files.size()},
          {"created_at", to_rfc3339(changeset.created_at)}};
}

std::optional<Changeset> find_changeset(Reader& reader, std::string_view id) {
  return read_row<changeset_columns, "SELECT {} FROM changesets WHERE id = ?">(reader, id);
}

std::vector<Changeset> list_changesets(Reader& reader, std::string_view session_id, int64_t limit) {
  return read_rows<changeset_columns,
                   "SELECT {} FROM changesets WHERE session_id = ?"
                   " ORDER BY created_at DESC, rowid DESC LIMIT ?">(reader, session_id, limit);
}

Result<Commits> commits_between(const std::string& folder, const std::string& base, const std::string& head) {
  auto unknown = [&] {
    return fail(Code::not_found, fmt::format("git does not know the commits {}..{}", base, head));
  };
  if (!is_commit_id(base) || !is_commit_id(head)) return unknown();
  if (base == head || head == no_commit) return Commits{};
  std::vector<std::string> words{"log",
                                 "-z",
                                 fmt::format("--max-count={}", max_commits + 1),
                                 "--no-color",
                                 "--no-notes",
                                 "--no-decorate",
                                 "--format=%H%x1f%ct%x1f%an%x1f%s",
                                 head};
  if (base != no_commit) words.push_back("^" + base);
  words.emplace_back("--");
  auto log = run_git(GitUse::looks, words, folder, 10s);
  if (!log || log->exit_code != 0) return unknown();
  Commits commits;
  for (std::string_view rest = log->out; !rest.empty();) {
    auto line = take_until(rest, '\0');
    if (commits.newest_first.size() == max_commits) {
      commits.is_cut = true;
      break;
    }
    commits.newest_first.push_back(to_commit(line));
  }
  return commits;
}

json::array to_json(const Commits& commits) {
  json::array list;
  for (const auto& commit : commits.newest_first)
    list.push_back(json::object{{"id", commit.id},
                                {"author", commit.author},
                                {"subject", commit.subject},
                                {"created_at", to_rfc3339(commit.created_at)}});
  return list;
}

}  // namespace cru::coordination
