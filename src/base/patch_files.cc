#include "base/patch_files.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cru {
namespace {

/// Without white space at its ends, as Codex takes a line.
std::string_view trim_white_space(std::string_view line) {
  constexpr std::array<std::string_view, 25> white = {
      "\t",           "\n",           "\v",           "\f",           "\r",           " ",
      "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82",
      "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
      "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
      "\xe3\x80\x80"};
  for (bool again = true; again;) {
    again = false;
    for (auto one : white) {
      bool front = line.starts_with(one), back = !front && line.ends_with(one);
      if (front) line.remove_prefix(one.size());
      if (back) line.remove_suffix(one.size());
      again = again || front || back;
    }
  }
  return line;
}

}  // namespace

std::vector<PatchFile> files_of_patch(std::string_view text) {
  using Change = PatchFile::Change;
  constexpr std::array<std::pair<std::string_view, Change>, 4> heads = {
      {{"*** Update File: ", Change::update},
       {"*** Add File: ", Change::add},
       {"*** Delete File: ", Change::remove},
       {"*** Move to: ", Change::move_to}}};
  std::vector<PatchFile> files;
  while (!text.empty()) {
    auto whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    auto line = trim_white_space(whole);
    for (auto [head, change] : heads)
      if (line.starts_with(head)) files.push_back({change, std::string(line.substr(head.size()))});
  }
  return files;
}

}  // namespace cru
