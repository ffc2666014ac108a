#include "crew/file_tools.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "crew/bounded_text.h"
#include "crew/off_limits.h"
#include "crew/proposing.h"
#include "crew/text_edit.h"
#include "platform/files/beneath.h"

namespace cru::crew {
namespace {

constexpr size_t chunk = 64u << 10;
constexpr int64_t max_skipped = 256 << 20;
constexpr int64_t max_edited_bytes = 8 << 20;
constexpr size_t max_listed = 1000, max_visited = 200'000, max_levels = 64;

struct Opened {
  Beneath project;
  std::string path;  ///< the real one
};

Result<Opened> find(const FileToolOptions& options, std::string_view path) {
  auto project = Beneath::open(options.root);
  if (!project) return fail(project.error());
  auto real = project->resolve(path);
  if (!real) return fail(real.error());
  return Opened{*std::move(project), *std::move(real)};
}

std::unexpected<Error> refuse_binary(const std::string& path, int64_t size) {
  return fail(Code::unsupported_media_type, fmt::format("{} is binary ({} bytes)", path, size), "path",
              "use run_command with a program that can read it");
}

/// Where line `number` begins. Errors: invalid_argument if there are fewer lines.
Result<int64_t> start_of_line(const BeneathFile& file, int64_t number, const std::string& path) {
  int64_t line = 1, offset = 0;
  while (line < number) {
    if (offset >= max_skipped)
      return fail(Code::too_large, fmt::format("line {} of {} is beyond the search limit", number, path),
                  "offset_line", "use offset_bytes");
    auto bytes = read_at(file.fd, offset, chunk);
    if (!bytes) return fail(bytes.error());
    if (bytes->empty())
      return fail(Code::invalid_argument, fmt::format("{} has only {} lines", path, line), "offset_line");
    size_t at = 0;
    while (line < number) {
      auto end = bytes->find('\n', at);
      if (end == std::string::npos) break;
      ++line;
      at = end + 1;
    }
    offset += static_cast<int64_t>(line < number ? bytes->size() : at);
  }
  return offset;
}

/// The length of the first `count` lines.
size_t length_of_lines(std::string_view text, int64_t count) {
  size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  return at;
}

/// How much of `text` is shown, whole lines if there is one.
size_t shown_length(std::string_view text, int64_t lines, size_t limit) {
  auto length = std::min(length_of_lines(text, lines), limit);
  if (length == text.size()) return length;
  auto last_line = text.substr(0, length).rfind('\n');
  if (last_line != std::string_view::npos) return last_line + 1;
  return character_start(text, length);
}

Result<std::string> read_text(const json::object& input, const FileToolOptions& options) {
  auto opened = find(options, text_or(input, "path"));
  if (!opened) return fail(opened.error());
  const auto& path = opened->path;
  if (auto allowed = check_readable(path, options.own_chat); !allowed) return fail(allowed.error());
  auto file = opened->project.open_file(path);
  if (!file) return fail(file.error());
  auto size = file->state.size;
  int64_t line = int_or(input, "offset_line", 1), offset = int_or(input, "offset_bytes", 0);
  if (offset > 0 && input.contains("offset_line"))
    return fail(Code::invalid_argument, "offset_bytes and offset_line are mutually exclusive",
                "offset_bytes");
  auto beginning = read_at(file->fd, 0, 8192);
  if (!beginning) return fail(beginning.error());
  if (beginning->contains('\0')) return refuse_binary(path, size);
  bool by_bytes = offset > 0;
  if (!by_bytes) {
    auto start = start_of_line(*file, line, path);
    if (!start) return fail(start.error());
    offset = *start;
  }
  auto text = read_at(file->fd, offset, options.result_limit + 4);
  if (!text) return fail(text.error());
  if (text->contains('\0')) return refuse_binary(path, size);
  auto length = shown_length(*text, int_or(input, "limit_lines", 1 << 30), options.result_limit);
  auto shown = text->substr(0, length);
  auto lines = std::ranges::count(shown, '\n') + (shown.empty() || shown.ends_with('\n') ? 0 : 1);
  auto header = by_bytes ? fmt::format("{} (from byte {} of {})", path, offset, size)
                : shown.empty()
                    ? fmt::format("{} ({} bytes, nothing more from line {})", path, size, line)
                    : fmt::format("{} (lines {}-{}, {} bytes in total)", path, line, line + lines - 1, size);
  auto result = header + "\n" + valid_utf8(shown);
  auto end = offset + static_cast<int64_t>(length);
  if (end >= size) return result;
  if (!result.ends_with('\n')) result += '\n';
  auto next = by_bytes || !shown.ends_with('\n') ? fmt::format("offset_bytes {}", end)
                                                 : fmt::format("offset_line {}", line + lines);
  return result + fmt::format("[… {} more bytes; continue with {}]", size - end, next);
}

bool is_ignored(std::string_view name) {
  return name == ".git" || name == ".coven" || name == "node_modules";
}

std::string in_words(const BeneathEntry& entry, const std::string& path) {
  switch (entry.kind) {
    case BeneathEntry::folder:
      return path + "/";
    case BeneathEntry::link:
      return path + " (link)";
    case BeneathEntry::other:
      return path + " (special)";
    case BeneathEntry::file:
      break;
  }
  return fmt::format("{} ({} bytes)", path, entry.size);
}

struct Listing {
  const Beneath& project;
  std::string base;     ///< where it began
  std::string pattern;  ///< empty: this one folder, all of it
  std::string own_chat;
  std::vector<std::string> lines = {};
  size_t visited = 0, left_out = 0;
  bool complete = true;

  Result<> visit(const std::string& folder, const std::string& below, size_t level) {
    auto entries = project.list(folder);
    if (!entries) return fail(entries.error());
    for (const auto& entry : *entries) {
      auto whole = (folder == "." ? "" : folder + "/") + entry.name;
      if (is_ignored(entry.name) || !check_readable(whole, own_chat)) continue;
      if (++visited > max_visited) {
        complete = false;
        return {};
      }
      auto path = below.empty() ? entry.name : below + "/" + entry.name;
      if (pattern.empty() || (entry.kind != BeneathEntry::folder && matches_pattern(pattern, path)))
        add(in_words(entry, base == "." ? path : base + "/" + path));
      if (pattern.empty() || entry.kind != BeneathEntry::folder) continue;
      if (level == max_levels)
        complete = false;
      else if (!visit(whole, path, level + 1))
        complete = false;  // one that cannot be read does not hide the others
    }
    return {};
  }
  void add(std::string line) {
    if (lines.size() < max_listed)
      lines.push_back(std::move(line));
    else
      ++left_out;
  }
};

Result<std::string> list_files(const json::object& input, const FileToolOptions& options) {
  auto opened = find(options, text_or(input, "folder", "."));
  if (!opened) {
    if (opened.error().field == "path") opened.error().field = "folder";
    return fail(opened.error());
  }
  if (auto allowed = check_readable(opened->path, options.own_chat); !allowed) return fail(allowed.error());
  std::string pattern(text_or(input, "pattern"));
  // Each star may be tried at each place, and each in each of those.
  if (std::ranges::count(pattern, '*') > 8)
    return fail(Code::invalid_argument, "pattern has more than 8 stars", "pattern");
  Listing listing{
      .project = opened->project, .base = opened->path, .pattern = pattern, .own_chat = options.own_chat};
  if (auto done = listing.visit(opened->path, "", 0); !done) return fail(done.error());
  if (listing.lines.empty())
    return fmt::format("no files{} in {}", pattern.empty() ? "" : " match", opened->path);
  std::ranges::sort(listing.lines);
  std::string result;
  for (const auto& line : listing.lines) {
    if (result.size() + line.size() > options.result_limit)
      ++listing.left_out;
    else
      result += valid_utf8(line) + "\n";
  }
  if (listing.left_out)
    result += fmt::format("[… {} more; use a folder or a narrower pattern]", listing.left_out);
  if (!listing.complete) result += "[… the listing is incomplete; use a folder]";
  return result;
}

Result<Opened> find_writable(const FileToolOptions& options, const json::object& input) {
  auto opened = find(options, text_or(input, "path"));
  if (!opened) return opened;
  if (auto allowed = check_writable(opened->path); !allowed) return fail(allowed.error());
  return opened;
}

/// All of a file that is to be changed. Errors: not_found; too_large.
Result<std::string> read_whole(const BeneathFile& file, const std::string& path) {
  if (file.state.size > max_edited_bytes)
    return fail(Code::too_large, fmt::format("{} is larger than {} bytes", path, max_edited_bytes), "path");
  return read_at(file.fd, 0, max_edited_bytes);
}

Result<FileChange> plan_write(const json::object& input, const FileToolOptions& options) {
  auto opened = find_writable(options, input);
  if (!opened) return fail(opened.error());
  FileChange change{.path = opened->path,
                    .before = {},
                    .after = std::string(text_or(input, "content")),
                    .state = {},
                    .done = {}};
  auto file = opened->project.open_file(opened->path);
  if (!file && file.error().code != Code::not_found) return fail(file.error());
  if (file) {
    auto before = read_whole(*file, opened->path);
    if (!before) return fail(before.error());
    change.before = *std::move(before);
    change.state = file->state;
  }
  change.done =
      fmt::format("{} {} ({} bytes)", file ? "replaced" : "created", change.path, change.after.size());
  return change;
}

Result<FileChange> plan_edit(const json::object& input, const FileToolOptions& options) {
  auto opened = find_writable(options, input);
  if (!opened) return fail(opened.error());
  auto file = opened->project.open_file(opened->path);
  if (!file) return fail(file.error());
  auto text = read_whole(*file, opened->path);
  if (!text) return fail(text.error());
  if (text->contains('\0')) return refuse_binary(opened->path, file->state.size);
  auto edited = edit_text(*text, text_or(input, "old"), text_or(input, "new"), bool_or(input, "all"));
  if (!edited) return fail(edited.error());
  if (edited->text.size() > static_cast<size_t>(max_edited_bytes))
    return fail(Code::too_large,
                fmt::format("{} would be larger than {} bytes", opened->path, max_edited_bytes), "new");
  auto done = fmt::format("edited {}: {} replaced, {}line {}", opened->path, edited->replaced,
                          edited->replaced > 1 ? "first in " : "", edited->line);
  return FileChange{opened->path, *std::move(text), std::move(edited->text), file->state, std::move(done)};
}

/// Makes the change, if that is the one that was approved.
Result<std::string> make_change(std::string_view name, const json::object& input,
                                const FileToolOptions& options) {
  auto change = plan_change(name, input, options);
  if (!change) return fail(change.error());
  if (!options.approved.empty())
    if (auto same = check_approved(propose_change(name, input, *change, options.root), options.approved);
        !same)
      return fail(same.error());
  auto project = Beneath::open(options.root);
  if (!project) return fail(project.error());
  auto written = project->replace(change->path, change->after, change->state);
  if (!written) return fail(written.error());
  return std::move(change->done);
}

Result<std::string> write_text(const json::object& input, const FileToolOptions& options) {
  if (!options.approved.empty()) return make_change("write_file", input, options);
  // Whatever was there is replaced, however large.
  auto opened = find_writable(options, input);
  if (!opened) return fail(opened.error());
  auto content = text_or(input, "content");
  auto is_new = opened->project.replace(opened->path, content);
  if (!is_new) return fail(is_new.error());
  return fmt::format("{} {} ({} bytes)", *is_new ? "created" : "replaced", opened->path, content.size());
}

}  // namespace

Result<FileChange> plan_change(std::string_view name, const json::object& input,
                               const FileToolOptions& options) {
  return name == "edit_file" ? plan_edit(input, options) : plan_write(input, options);
}

bool matches_pattern(const std::string& pattern, const std::string& path) {
  if (!pattern.contains('/')) return ::fnmatch(pattern.c_str(), path.c_str() + (path.rfind('/') + 1), 0) == 0;
  if (!pattern.contains("**")) return ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
  if (::fnmatch(pattern.c_str(), path.c_str(), 0) == 0) return true;
  // `**/` may also be no folder at all.
  auto at = pattern.find("**/");
  return at != std::string::npos && matches_pattern(std::string(pattern).erase(at, 3), path);
}

Result<std::string> use_file_tool(std::string_view name, const json::object& input,
                                  const FileToolOptions& options) {
  if (name == "read_file") return read_text(input, options);
  if (name == "list_files") return list_files(input, options);
  if (name == "write_file") return write_text(input, options);
  if (name == "edit_file") return make_change(name, input, options);
  return fail(Code::not_found, fmt::format("unknown file tool: {}", name), "name");
}

}  // namespace cru::crew
