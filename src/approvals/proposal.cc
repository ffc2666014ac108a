#include "approvals/proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/sha256.h"
#include "base/text.h"

namespace cru::approvals {
namespace {

constexpr size_t max_preview_bytes = 256u << 10;

/// By tool: what of its input nothing depends on.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> advisory = {
    {{"run_command", "timeout_seconds"},
     {"Bash", "description"},
     {"Bash", "timeout"},
     {"shell", "timeout_ms"}}};

}  // namespace

std::string_view name(Undo undo) {
  if (undo == Undo::reversible) return "reversible";
  return undo == Undo::irreversible ? "irreversible" : "unknown";
}

Undo undo_from(std::string_view name) {
  if (name == "reversible") return Undo::reversible;
  return name == "irreversible" ? Undo::irreversible : Undo::unknown;
}

std::string canonical(const json::value& value) {
  if (const auto* object = value.if_object()) {
    std::vector<std::string_view> keys;
    for (const auto& member : *object) keys.push_back(member.key());
    std::ranges::sort(keys);
    std::string out = "{";
    for (auto key : keys)
      out += fmt::format("{}{}:{}", out.size() > 1 ? "," : "", to_text(json::value(key)),
                         canonical(object->at(key)));
    return out + "}";
  }
  if (const auto* array = value.if_array()) {
    std::string out = "[";
    for (const auto& item : *array) out += (out.size() > 1 ? "," : "") + canonical(item);
    return out + "]";
  }
  return to_text(value);
}

json::object without_advisory(std::string_view tool, json::object input) {
  for (auto [of, field] : advisory)
    if (of == tool) input.erase(field);
  return input;
}

std::string digest_of(const Proposal& proposal) {
  json::array files;
  for (const auto& file : proposal.files) files.push_back(json::array{file.path, file.sha256});
  json::object covered{{"version", 1},
                       {"tool", proposal.tool},
                       {"input", without_advisory(proposal.tool, proposal.input)},
                       {"folder", proposal.folder},
                       {"executable", proposal.executable},
                       {"files", std::move(files)}};
  return sha256(canonical(covered));
}

std::string difference(const Proposal& shown, const Proposal& now) {
  for (const auto& file : now.files) {
    auto before = std::ranges::find(shown.files, file.path, &FileHash::path);
    if (before == shown.files.end() || *before == file) continue;
    auto how = file.sha256.empty() ? "is gone" : before->sha256.empty() ? "is there now" : "has changed";
    return fmt::format("{} {} since it was shown", file.path, how);
  }
  if (shown.executable != now.executable)
    return fmt::format("the program would be {} instead of {}", now.executable, shown.executable);
  if (shown.files != now.files) return "other files would be changed than those that were shown";
  return "what would be done is not what was shown";
}

Preview shown(std::string kind, std::string text) {
  Preview preview{std::move(kind), std::move(text)};
  preview.is_cut = preview.text.size() > max_preview_bytes;
  if (preview.is_cut) preview.text.resize(character_start(preview.text, max_preview_bytes));
  return preview;
}

json::object to_record(const Proposal& proposal) {
  json::array files;
  for (const auto& file : proposal.files)
    files.push_back({{"path", file.path}, {"sha256", json_or_null(file.sha256)}});
  return {{"tool", proposal.tool},
          {"input", proposal.input},
          {"folder", proposal.folder},
          {"executable", json_or_null(proposal.executable)},
          {"search_path", json_or_null(proposal.search_path)},
          {"files", std::move(files)},
          {"preview",
           {{"kind", proposal.preview.kind},
            {"text", proposal.preview.text},
            {"is_cut", proposal.preview.is_cut}}},
          {"what", proposal.what},
          {"impact", proposal.impact},
          {"undo", name(proposal.undo)},
          {"undo_why", proposal.undo_why}};
}

Proposal proposal_from(const json::object& record) {
  Proposal proposal{.tool = std::string(text_or(record, "tool")),
                    .input = {},
                    .folder = std::string(text_or(record, "folder")),
                    .executable = std::string(text_or(record, "executable")),
                    .search_path = std::string(text_or(record, "search_path")),
                    .files = {},
                    .preview = {},
                    .what = std::string(text_or(record, "what")),
                    .impact = std::string(text_or(record, "impact")),
                    .undo = undo_from(text_or(record, "undo")),
                    .undo_why = std::string(text_or(record, "undo_why"))};
  if (const auto* input = object_at(record, "input")) proposal.input = *input;
  if (const auto* files = array_at(record, "files"))
    for (const auto& file : *files)
      if (const auto* fields = file.if_object())
        proposal.files.push_back(
            {std::string(text_or(*fields, "path")), std::string(text_or(*fields, "sha256"))});
  if (const auto* preview = object_at(record, "preview"))
    proposal.preview = {std::string(text_or(*preview, "kind")), std::string(text_or(*preview, "text")),
                        bool_or(*preview, "is_cut")};
  return proposal;
}

}  // namespace cru::approvals
