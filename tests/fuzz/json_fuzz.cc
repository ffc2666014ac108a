// JSON is read back from its own text; input that passed the check of an operation passes it again unchanged,
// and input that did not is told which field is wrong.
#include "api/operation.h"
#include "fuzz.h"

namespace cru::fuzz {
namespace {

/// Numbers with a fraction may lose their last digit on the way.
bool has_fraction(const json::value& value) {
  if (const auto* list = value.if_array()) return std::ranges::any_of(*list, has_fraction);
  if (const auto* object = value.if_object())
    return std::ranges::any_of(*object, [](const auto& member) { return has_fraction(member.value()); });
  return value.is_double();
}

void check_operation(const api::Operation& operation, const json::object& input) {
  auto checked = api::check_input(operation, input);
  if (!checked) {
    require(checked.error().code == Code::invalid_argument, "refused input is an invalid argument");
    require_readable(checked.error());
    require(parse_json(to_text(to_json(checked.error()))).has_value(), "an error can be told as JSON");
    return;
  }
  for (const auto& field : operation.fields)
    require(!field.required || checked->contains(field.name), "what is required is there");
  auto again = api::check_input(operation, *checked);
  require(again && (*again == *checked || has_fraction(*checked)), "checked input passes again, unchanged");
}

}  // namespace

void check(std::string_view input) {
  auto parsed = parse_json(input);
  if (!parsed) return require_readable(parsed.error());
  auto text = to_text(*parsed);
  auto again = parse_json(text);
  require(again.has_value(), "JSON is read back");
  require(*again == *parsed || has_fraction(*parsed), "JSON is read back as it was");
  auto safe = parse_json(json_safe_for_terminal(text));
  require(safe && (*safe == *again), "JSON that is safe to show is the same JSON");
  if (!parsed->is_object()) return;
  for (const auto& operation : api::operations()) check_operation(operation, parsed->get_object());
}

}  // namespace cru::fuzz
