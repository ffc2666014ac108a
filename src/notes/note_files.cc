#include "notes/note_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "notes/note_text.h"
#include "platform/files/beneath.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/folder_listing.h"

namespace cru::notes {
namespace {

constexpr size_t max_folders = 200'000, max_path_bytes = 4096;

Stamp stamp_of(std::string path, const FileStatus& status) {
  return {std::move(path), status.size, status.modified_ns, static_cast<int64_t>(status.inode)};
}

/// Where the links of `path` lead, relative to the root; empty if that is not below it, or gone.
std::string resolved(const std::string& root, const std::string& path) {
  std::error_code failed;
  auto real_root = std::filesystem::canonical(root, failed);
  if (failed) return {};
  auto real = std::filesystem::canonical(real_root / path, failed).string();
  auto above = real_root.string();
  if (!above.ends_with('/')) above += '/';
  return failed || !real.starts_with(above) ? std::string() : real.substr(above.size());
}

Error no_way(const std::string& path, std::error_code code) {
  using enum std::errc;
  auto name = valid_utf8(path);
  if (code == cross_device_link || code == too_many_symbolic_link_levels)
    return {Code::invalid_argument, fmt::format("\"{}\" is outside the project", name), "path"};
  if (code == no_such_file_or_directory || code == not_a_directory || code == filename_too_long)
    return {Code::not_found, fmt::format("note not found: \"{}\"", name), "path"};
  return system_error(code, "open " + name);
}

/// A folder that is gone meanwhile, was replaced by something else, or is not for us.
bool is_no_folder_of_ours(std::error_code code) {
  using enum std::errc;
  for (auto harmless :
       {no_such_file_or_directory, not_a_directory, permission_denied, operation_not_permitted,
        cross_device_link, too_many_symbolic_link_levels, filename_too_long})
    if (code == harmless) return true;
  return false;
}

/// One folder's notes go to `notes`, its folders to `folders`. Errors: whatever leaves it unknown what the
/// folder holds. Taken as empty, it would have its notes removed from the index.
Result<> list_folder(const Fd& root, const std::string& folder, std::vector<Stamp>& notes,
                     std::vector<std::string>& folders) {
  auto fd = open_beneath(root, folder, BeneathAs::folder, BeneathLinks::refused);
  auto doing = [&folder] {
    return "list " + (folder.empty() ? std::string("the project") : valid_utf8(folder));
  };
  if (!fd && is_no_folder_of_ours(fd.error())) return {};
  if (!fd) return fail(system_error(fd.error(), doing()));
  FolderListing listing(*std::move(fd));
  if (!listing) return fail(system_error(listing.error(), doing()));
  while (auto entry = listing.next()) {
    std::string_view name = entry->name;
    bool is_other = entry->kind == FolderListing::file && !is_markdown(name);
    if (is_other || folder.size() + name.size() > max_path_bytes) continue;
    auto path = folder.empty() ? std::string(name) : folder + "/" + std::string(name);
    bool holds = may_lead_to_notes(path), is_note = may_be_note(path);
    if (!holds && !is_note) continue;
    bool must_ask = entry->kind == FolderListing::unknown || (is_note && entry->kind == FolderListing::file);
    auto status = must_ask ? listing.status_of(*entry) : std::optional<FileStatus>();
    if (must_ask && !status) continue;
    if (holds && (entry->kind == FolderListing::folder || (status && status->is_folder()))) {
      folders.push_back(std::move(path));
      continue;
    }
    if (is_note && status && status->is_plain_file()) notes.push_back(stamp_of(std::move(path), *status));
  }
  if (listing.error()) return fail(system_error(listing.error(), doing()));
  return {};
}

}  // namespace

Result<std::string> NoteFiles::inside(const std::string& path) const {
  std::string_view given = path;
  if (given.starts_with(root_ + "/")) given.remove_prefix(root_.size() + 1);
  auto plain = std::filesystem::path(given).lexically_normal().string();
  while (plain.ends_with('/')) plain.pop_back();
  if (plain == ".") plain.clear();
  if (plain.starts_with('/') || plain == ".." || plain.starts_with("../") || plain.contains('\0') ||
      plain.size() > max_path_bytes)
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is outside the project", valid_utf8(path.substr(0, 200))), "path",
                "use a path relative to the project's root");
  return plain;
}

Result<Walk> NoteFiles::walk(const std::string& folder, size_t most) const {
  auto root = open_folder(root_);
  if (!root) return fail(root.error());
  Walk walk;
  std::vector<std::string> folders;
  if (may_lead_to_notes(folder)) folders.push_back(folder);
  for (size_t visited = 0; !folders.empty(); ++visited) {
    if (visited == max_folders || walk.notes.size() > most) {
      walk.complete = false;
      break;
    }
    auto next = std::move(folders.back());
    folders.pop_back();
    if (auto listed = list_folder(*root, next, walk.notes, folders); !listed) return fail(listed.error());
  }
  std::sort(walk.notes.begin(), walk.notes.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  if (walk.notes.size() > most) walk.notes.resize(most);
  return walk;
}

/// Without links a path is what it says. With some, where they lead is found out first and then opened
/// without any, so that nobody can turn a link round in between.
Result<Fd> NoteFiles::open_file(const std::string& path, Links links) const {
  auto root = open_folder(root_);
  if (!root) return root;
  auto fd = open_beneath(*root, path, BeneathAs::file, BeneathLinks::refused);
  if (fd) return *std::move(fd);
  if (fd.error() != std::errc::too_many_symbolic_link_levels) return fail(no_way(path, fd.error()));
  if (links == Links::refused)
    return fail(Code::invalid_argument, fmt::format("\"{}\" is a symbolic link", valid_utf8(path)), "path");
  if (auto place = open_beneath(*root, path, BeneathAs::place, BeneathLinks::followed); !place)
    return fail(no_way(path, place.error()));
  auto real = resolved(root_, path);
  if (!may_be_note(real))
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" links to a file that is not a note", valid_utf8(path)), "path");
  fd = open_beneath(*root, real, BeneathAs::file, BeneathLinks::refused);
  if (!fd) return fail(no_way(path, fd.error()));
  return *std::move(fd);
}

Result<NoteFiles::Part> NoteFiles::read(const std::string& path, int64_t offset, size_t most,
                                        Links links) const {
  auto opened = open_file(path, links);
  if (!opened) return fail(opened.error());
  auto status = file_status(*opened);
  if (!status.is_plain_file())
    return fail(Code::invalid_argument, fmt::format("\"{}\" is not a file", path), "path");
  Part part{stamp_of(path, status), {}};
  if (offset >= status.size) return part;
  auto bytes = read_part(*opened, offset, std::min(most, static_cast<size_t>(status.size - offset)));
  if (!bytes) return fail(system_error(bytes.error(), "read " + path));
  part.bytes = *std::move(bytes);  // fewer than asked for if it shrank
  return part;
}

}  // namespace cru::notes
