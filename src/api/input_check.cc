#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>

#include "api/operation.h"
#include "base/id.h"
#include "base/text.h"

namespace cru::api {
namespace {

/// One entry of a list or map: what the kernel takes as one argument of a program.
constexpr size_t max_entry_bytes = 128u << 10;

std::unexpected<Error> refuse(const Field& field, std::string_view reason, std::string hint = {}) {
  return fail(Code::invalid_argument, fmt::format("{} {}", field.name, reason), std::string(field.name),
              std::move(hint));
}

/// The one of `words` that `word` is most likely a slip of; empty if none is near.
template <class Words>
std::string_view nearest(std::string_view word, const Words& words) {
  if (word.size() > 64) return {};
  std::string_view best;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  for (std::string_view each : words) {
    auto changes = edit_distance(word, each);
    if (changes < least) {
      least = changes;
      best = each;
    }
  }
  return best;
}

std::vector<std::string_view> split_choices(std::string_view text) {
  std::vector<std::string_view> out;
  for (;;) {
    auto end = text.find('|');
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

/// What holds for every text: it can be stored, shown and, as an argument or path, handed to the kernel.
Result<> check_bytes(const Field& field, std::string_view text) {
  if (!is_utf8(text)) return refuse(field, "is not valid UTF-8");
  // Only what goes to a program's standard input may hold any character.
  if (field.name != "text" && text.find('\0') != std::string_view::npos)
    return refuse(field, "contains a NUL character");
  return {};
}

Result<json::value> check_text(const Field& field, const json::value& value) {
  if (!value.is_string()) return refuse(field, "must be a string");
  std::string_view text = value.get_string();
  if (auto bytes = check_bytes(field, text); !bytes) return fail(bytes.error());
  if (field.is_id) {
    if (auto good = check_task_id(text, field.name); !good) return fail(good.error());
    return value;
  }
  if (static_cast<int64_t>(text.size()) > field.max)
    return refuse(field, fmt::format("is longer than {} bytes", field.max));
  if (static_cast<int64_t>(text.size()) < field.min)
    return refuse(field, field.min == 1 ? "is empty" : fmt::format("is shorter than {} bytes", field.min));
  if (!field.one_of.empty()) {
    auto choices = split_choices(field.one_of);
    if (std::ranges::find(choices, text) == choices.end()) {
      auto near = nearest(text, choices);
      return refuse(field, fmt::format("must be one of {}", fmt::join(choices, ", ")),
                    near.empty() ? std::string() : fmt::format("did you mean {}?", near));
    }
  }
  return value;
}

Result<json::value> check_integer(const Field& field, const json::value& value) {
  int64_t number = 0;
  if (value.is_string()) {
    std::string_view text = value.get_string();
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
      return refuse(field, "must be an integer");
  } else {
    json::error_code error;
    number = value.to_number<int64_t>(error);  // takes 5.0, refuses 5.5 and what does not fit
    if (error) return refuse(field, "must be an integer");
  }
  if (number < field.min || number > field.max) {
    if (field.max == std::numeric_limits<int64_t>::max())
      return refuse(field, fmt::format("must be at least {}", field.min));
    return refuse(field, fmt::format("must be from {} to {}", field.min, field.max));
  }
  return json::value(number);
}

Result<json::value> check_number(const Field& field, const json::value& value) {
  double number = 0;
  if (value.is_string()) {
    std::string_view text = value.get_string();
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
      return refuse(field, "must be a number");
  } else {
    json::error_code error;
    number = value.to_number<double>(error);
    if (error) return refuse(field, "must be a number");
  }
  // Not a number compares false with everything.
  if (!(number >= static_cast<double>(field.min) && number <= static_cast<double>(field.max)))
    return refuse(field, fmt::format("must be from {} to {}", field.min, field.max));
  return json::value(number);
}

Result<json::value> check_any(const Field& field, json::value value) {
  auto text = to_text(value);
  if (static_cast<int64_t>(text.size()) > field.max)
    return refuse(field, fmt::format("is longer than {} bytes as JSON", field.max));
  // Of a value that was JSON all is; one from the address may be anything.
  if (value.is_string() && !is_utf8(value.get_string())) return refuse(field, "is not valid UTF-8");
  return value;
}

Result<json::value> check_boolean(const Field& field, const json::value& value) {
  if (value.is_bool()) return value;
  if (value.is_string()) {
    std::string_view text = value.get_string();
    if (text == "true" || text == "1") return json::value(true);
    if (text == "false" || text == "0") return json::value(false);
  }
  return refuse(field, "must be true or false");
}

Result<> check_entry(const Field& field, std::string_view text) {
  if (text.size() > max_entry_bytes)
    return refuse(field, fmt::format("has an entry longer than {} bytes", max_entry_bytes));
  return check_bytes(field, text);
}

Result<json::value> check_list(const Field& field, json::value value) {
  const auto* list = value.if_array();
  if (!list) return refuse(field, "must be a list of strings");
  if (static_cast<int64_t>(list->size()) > field.max)
    return refuse(field, fmt::format("has more than {} entries", field.max));
  for (const auto& entry : *list) {
    if (!entry.is_string()) return refuse(field, "must be a list of strings");
    if (auto good = check_entry(field, entry.get_string()); !good) return fail(good.error());
  }
  return value;
}

Result<json::value> check_map(const Field& field, json::value value) {
  const auto* map = value.if_object();
  if (!map) return refuse(field, "must be an object with string values");
  if (static_cast<int64_t>(map->size()) > field.max)
    return refuse(field, fmt::format("has more than {} entries", field.max));
  for (const auto& entry : *map) {
    if (!entry.value().is_string()) return refuse(field, "must be an object with string values");
    if (entry.key().empty() || entry.key().find('=') != json::string_view::npos)
      return refuse(field, "has a name that is empty or contains =");
    if (auto good = check_entry(field, entry.key()); !good) return fail(good.error());
    if (auto good = check_entry(field, entry.value().get_string()); !good) return fail(good.error());
  }
  return value;
}

Result<json::value> check_value(const Field& field, json::value value) {
  switch (field.type) {
    case Type::text:
      return check_text(field, value);
    case Type::integer:
      return check_integer(field, value);
    case Type::number:
      return check_number(field, value);
    case Type::any:
      return check_any(field, std::move(value));
    case Type::boolean:
      return check_boolean(field, value);
    case Type::text_list:
      return check_list(field, std::move(value));
    case Type::text_map:
      return check_map(field, std::move(value));
  }
  return fail(Code::internal, "a field of the operation table has no type");
}

/// The default of a field. Those of the table are parsed once.
json::value fallback_of(const Field& field) {
  static const auto all = [] {
    std::unordered_map<const Field*, json::value> fallbacks;
    for (const auto& operation : operations())
      for (const auto& each : operation.fields)
        if (!each.fallback.empty()) fallbacks.emplace(&each, parse_json(each.fallback).value());
    return fallbacks;
  }();
  auto found = all.find(&field);
  return found == all.end() ? parse_json(field.fallback).value() : found->second;
}

Result<> refuse_unknown(const Operation& operation, std::string_view key) {
  std::vector<std::string_view> names;
  for (const auto& field : operation.fields) names.push_back(field.name);
  auto near = nearest(key, names);
  std::string hint;
  if (!near.empty())
    hint = fmt::format("did you mean {}?", near);
  else if (names.empty())
    hint = fmt::format("{} has no fields", operation.name);
  else
    hint = fmt::format("valid fields: {}", fmt::join(names, ", "));
  std::string shown(is_utf8(key) ? cut_at_character(key, 64) : "?");
  return fail(Code::invalid_argument, fmt::format("{} has no field {}", operation.name, shown), shown, hint);
}

}  // namespace

Result<json::object> check_input(const Operation& operation, json::object input) {
  json::object out;
  for (const auto& entry : input) {
    bool known = std::ranges::any_of(operation.fields, [&](const Field& f) { return f.name == entry.key(); });
    if (!known) return fail(refuse_unknown(operation, entry.key()).error());
  }
  for (const auto& field : operation.fields) {
    auto* given = input.if_contains(field.name);
    if (given && !given->is_null()) {
      auto checked = check_value(field, std::move(*given));
      if (!checked) return fail(std::move(checked.error()));
      out[field.name] = std::move(*checked);
    } else if (field.required) {
      return refuse(field, "is required");
    } else if (!field.fallback.empty()) {
      out[field.name] = fallback_of(field);
    }
  }
  return out;
}

}  // namespace cru::api
