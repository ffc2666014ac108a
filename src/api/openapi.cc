#include <fmt/format.h>

#include <algorithm>

#include "api/operation.h"

namespace cru::api {
namespace {

json::object field_schema(const Field& field) {
  json::object schema;
  switch (field.type) {
    case Type::text:
      schema["type"] = "string";
      if (field.is_id) {
        schema["pattern"] = "^[A-Za-z0-9_-]{1,64}$";
      } else if (!field.one_of.empty()) {
        json::array choices;
        for (std::string_view rest = field.one_of;;) {
          auto end = rest.find('|');
          choices.emplace_back(rest.substr(0, end));
          if (end == std::string_view::npos) break;
          rest.remove_prefix(end + 1);
        }
        schema["enum"] = std::move(choices);
      } else {
        if (field.min > 0) schema["minLength"] = field.min;
        schema["maxLength"] = field.max;  // the check is in bytes, so this never refuses what we take
      }
      break;
    case Type::integer:
      schema["type"] = "integer";
      schema["minimum"] = field.min;
      if (field.max != std::numeric_limits<int64_t>::max()) schema["maximum"] = field.max;
      break;
    case Type::number:
      schema["type"] = "number";
      schema["minimum"] = field.min;
      schema["maximum"] = field.max;
      break;
    case Type::any:
      break;
    case Type::boolean:
      schema["type"] = "boolean";
      break;
    case Type::text_list:
      schema["type"] = "array";
      schema["items"] = json::object{{"type", "string"}};
      schema["maxItems"] = field.max;
      break;
    case Type::text_map:
      schema["type"] = "object";
      schema["additionalProperties"] = json::object{{"type", "string"}};
      schema["maxProperties"] = field.max;
      break;
  }
  if (!field.summary.empty()) schema["description"] = field.summary;
  if (!field.fallback.empty()) schema["default"] = parse_json(field.fallback).value();
  return schema;
}

/// Turns {"type":["string","null"]} into {"anyOf":[{"type":"string"},{"type":"null"}]}, wherever it stands.
/// Whatever stands beside the list goes on holding for all of them.
void spell_out_types(json::value& schema) {
  if (auto* list = schema.if_array())
    for (auto& entry : *list) spell_out_types(entry);
  auto* object = schema.if_object();
  if (!object) return;
  for (auto& member : *object) spell_out_types(member.value());
  // A property that is called "type" has a schema, not a list.
  const auto* types = array_at(*object, "type");
  if (!types) return;
  CRU_ASSERT(!object->contains("anyOf"));
  json::array choices;
  for (const auto& type : *types) choices.push_back(json::object{{"type", type}});
  object->erase("type");
  (*object)["anyOf"] = std::move(choices);
}

/// An object of the given fields and no others.
template <class Wanted>
json::object object_schema(const Operation& operation, Wanted wanted) {
  json::object properties;
  json::array required;
  for (const auto& field : operation.fields) {
    if (!wanted(field)) continue;
    properties[field.name] = field_schema(field);
    if (field.required) required.emplace_back(field.name);
  }
  json::object schema{
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

bool is_in_path(const Field& field, const Route& route) {
  return field.in == In::path && route.path.find(fmt::format("{{{}}}", field.name)) != std::string_view::npos;
}
/// A GET has no body; a path field that this route's path does not hold travels like the others.
bool is_in_body(const Field& field, const Route& route) {
  return route.method != "GET" && field.in != In::query && !is_in_path(field, route);
}

json::object parameter(const Field& field, std::string_view where) {
  return {{"name", field.name},
          {"in", where},
          {"required", where == "path" || field.required},
          {"description", field.summary},
          {"schema", field_schema(field)}};
}

json::object reply_of(const Operation& operation) {
  json::object content;
  if (operation.is_event_stream) {
    content["application/json"] = json::object{
        {"schema",
         json::object{{"type", "array"}, {"items", json::object{{"$ref", "#/components/schemas/Event"}}}}}};
    content["text/event-stream"] = json::object{{"schema", json::object{{"type", "string"}}}};
  } else {
    content[operation.content_type] = json::object{{"schema", reply_schema(operation)}};
  }
  return {{"description", "done"}, {"content", std::move(content)}};
}

json::object describe(const Operation& operation, const Route& route, bool is_first) {
  json::array parameters;
  bool has_body = false, needs_body = false;
  for (const auto& field : operation.fields) {
    if (is_in_path(field, route)) {
      parameters.emplace_back(parameter(field, "path"));
    } else if (is_in_body(field, route)) {
      has_body = true;
      needs_body = needs_body || field.required;
    } else {
      parameters.emplace_back(parameter(field, "query"));
    }
  }
  if (!operation.reads_only)
    parameters.emplace_back(json::object{{"$ref", "#/components/parameters/RequestId"}});
  std::string id(operation.name);
  if (!is_first) {  // operationIds are unique: the second route is named by its path
    id += '_';
    for (char c : route.path.substr(1))
      if (c != '{' && c != '}') id += c == '/' ? '_' : c;
  }
  json::object out{{"operationId", id}, {"summary", operation.summary}};
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  if (has_body) {
    auto schema = object_schema(operation, [&](const Field& field) { return is_in_body(field, route); });
    out["requestBody"] = json::object{
        {"required", needs_body},
        {"content", json::object{{"application/json", json::object{{"schema", std::move(schema)}}}}}};
  }
  out["responses"] = json::object{{std::to_string(operation.status), reply_of(operation)},
                                  {"default", json::object{{"$ref", "#/components/responses/Error"}}}};
  return out;
}

json::object components() {
  constexpr auto text = R"json({
"securitySchemes":{"token":{"type":"http","scheme":"bearer",
  "description":"the content of .coven/token; not needed on the unix socket"}},
"parameters":{"RequestId":{"name":"Cru-Request-Id","in":"header","required":false,
  "description":"for 24 hours, a repeated request with the same id returns the first reply",
  "schema":{"type":"string","maxLength":128}}},
"responses":{"Error":{"description":"the error",
  "content":{"application/json":{"schema":{"$ref":"#/components/schemas/Error"}}}}},
"schemas":{
  "Error":{"type":"object","required":["error","message"],"properties":{
    "error":{"type":"string","description":"the error code"},
    "message":{"type":"string"},"field":{"type":"string"},"hint":{"type":"string"},"details":{"type":"object"}}},
  "Event":{"type":"object","required":["id","type","timestamp","data"],"properties":{
    "id":{"type":"integer"},"type":{"type":"string"},"entity_id":{"type":["string","null"]},
    "timestamp":{"type":"string","format":"date-time"},"data":{"type":"object"}}}}})json";
  auto parsed = parse_json(text);
  CRU_ASSERT(parsed && parsed->is_object());
  spell_out_types(*parsed);
  auto object = std::move(parsed->get_object());
  json::array codes;
#define X(name, status) codes.emplace_back(#name);
  CRU_CODES(X)
#undef X
  object["schemas"].at("Error").at("properties").at("error").as_object()["enum"] = std::move(codes);
  return object;
}

}  // namespace

json::object input_schema(const Operation& operation) {
  return object_schema(operation, [](const Field&) { return true; });
}

json::object reply_schema(const Operation& operation) {
  auto schema = parse_json(operation.reply);
  CRU_ASSERT(schema && schema->is_object());
  spell_out_types(*schema);
  return std::move(schema->get_object());
}

json::object openapi() {
  json::object paths;
  for (const auto& operation : operations())
    for (const auto& route : operation.routes) {
      auto& path = paths[route.path];
      if (!path.is_object()) path = json::object();
      auto method = route.method;
      std::string lower(method);
      std::ranges::transform(lower, lower.begin(), [](char c) { return static_cast<char>(c | 0x20); });
      path.get_object()[lower] = describe(operation, route, &route == &operation.routes.front());
    }
  return {{"openapi", "3.1.0"},
          {"info", json::object{{"title", "cru"},
                                {"version", CRU_VERSION},
                                {"description", "Supervises a crew of AI agents on this machine."}}},
          {"servers", json::array{json::object{{"url", "/"}}}},
          {"security", json::array{json::object{{"token", json::array()}}}},
          {"paths", std::move(paths)},
          {"components", components()}};
}

}  // namespace cru::api
