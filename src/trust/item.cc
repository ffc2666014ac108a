#include "trust/item.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/diff.h"
#include "base/sha256.h"

namespace cru::trust {
namespace {

constexpr int64_t version = 1;

bool is_digest(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Result<Record> parse_record(std::string_view text, std::string_view project) {
  auto wrong = [](std::string why) { return fail(Code::invalid_argument, std::move(why)); };
  auto value = parse_json(text);
  if (!value) return wrong(std::move(value.error().message));
  if (!value->is_object()) return wrong("it is not a JSON object");
  const auto& whole = value->get_object();
  if (int_or(whole, "version") != version) return wrong("it is of another version of cru");
  if (text_or(whole, "project") != project) return wrong("it is another project's");
  const auto* items = whole.if_contains("items");
  if (!items || !items->is_object()) return wrong("it has no items");
  Record record;
  for (const auto& [path, entry] : items->get_object()) {
    auto digest = entry.is_object() ? text_or(entry.get_object(), "sha256") : std::string_view();
    auto at = entry.is_object() ? parse_rfc3339(text_or(entry.get_object(), "trusted_at")) : std::nullopt;
    if (!is_digest(digest)) return wrong(fmt::format("{} has no SHA-256", std::string_view(path)));
    record[std::string(path)] = {std::string(digest), at.value_or(Time{}), false};
  }
  return record;
}

std::string record_text(const Record& record, std::string_view project) {
  json::object items;
  for (const auto& [path, entry] : record)
    if (!entry.once)
      items[path] = json::object{{"sha256", entry.sha256}, {"trusted_at", to_rfc3339(entry.trusted_at)}};
  return to_text(json::object{{"version", version}, {"project", project}, {"items", std::move(items)}}) +
         "\n";
}

std::string_view name(State state) {
  switch (state) {
    case State::trusted:
      return "trusted";
    case State::added:
      return "new";
    case State::changed:
      return "changed";
    case State::refused:
      break;
  }
  return "refused";
}

State state_of(const Item& item, const Record& record) {
  if (!item.problem.empty()) return State::refused;
  auto found = record.find(item.path);
  if (found == record.end()) return State::added;
  return found->second.sha256 == sha256(item.text) ? State::trusted : State::changed;
}

std::string difference(const Item& item, std::string_view trusted_text) {
  auto before = trusted_text.empty() ? std::string("/dev/null") : item.path + " (trusted)";
  return unified_diff(trusted_text, item.text, before, item.path);
}

Check check_now(const Checks& checks) {
  if (!checks) return [](const std::string&, std::string_view) { return false; };
  return checks();
}

Check check_of(Record record) {
  return [known = std::make_shared<const Record>(std::move(record))](const std::string& path,
                                                                     std::string_view digest) {
    auto found = known->find(path);
    return found != known->end() && found->second.sha256 == digest;
  };
}

Error untrusted(std::string_view what, const std::string& path, const std::vector<std::string>& reasons) {
  return {Code::untrusted_content,
          fmt::format("{} waits: {} is not trusted{}", what, path,
                      reasons.empty() ? "" : fmt::format(" (it {})", fmt::join(reasons, "; "))),
          {},
          "look at it and trust it with: cru trust",
          to_text(json::object{{"type", "untrusted_content"}, {"file", path}})};
}

}  // namespace cru::trust
