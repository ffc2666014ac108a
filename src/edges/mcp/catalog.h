#pragma once
/// What this server offers, told once: tools from the operation table, resources, templates, prompts.
/// Texts that never change are made once; nothing here asks the daemon.
#include <vector>

#include "api/operation.h"
#include "edges/mcp/protocol.h"

namespace cru::mcp {

inline constexpr size_t page_size = 50;

/// The row of a tool; null if there is no such tool.
const api::Operation* find_tool(std::string_view name);
/// A tool as `tools/list` of this version tells it.
json::object describe_tool(const api::Operation& operation, Version version);
/// What every reply of a row satisfies: its own reply and every error too. A client of the official SDK
/// refuses a result that does not match.
json::object output_schema(const api::Operation& operation);

json::object capabilities(Version version);
json::object server_info();
std::string_view instructions();
/// The result of `server/discover`.
std::string discover_result();
/// The result of `initialize`.
std::string initialize_result(Version version);

/// Something that a list may show, as JSON text, and the row that it rests on: whoever may not call the row
/// is not offered it.
struct Offer {
  const api::Operation* row;
  std::string text;
};
const std::vector<Offer>& fixed_resources();
const std::vector<Offer>& resource_templates();
const std::vector<Offer>& prompts();
/// The tools of a version, in the table's order.
const std::vector<Offer>& tools(Version version);
/// The row that a prompt rests on; null if there is no such prompt.
const api::Operation* prompt_row(std::string_view name);

/// `{"KEY":[…],"nextCursor"?}` from `items`, the page that `cursor` names; what 2026-07-28 adds to a list is
/// added. Outcomes: JSON text; invalid_params for a cursor that is not ours.
std::expected<std::string, RpcError> list_page(std::string_view key, const std::vector<std::string>& items,
                                               const json::object& params, Version version);

/// Ends a result's text of a modern version: `,"resultType":…,"_meta":…}`; `}` for an older one.
std::string_view result_end(Version version);
/// The same for what is the same for everybody and may be cached for a while.
std::string_view public_end(Version version);
/// The same for lists: they may be cached for a while, but by whoever asked, for they show what it may use.
std::string_view list_end(Version version);
/// The same for what may not: a resource's content.
std::string_view fresh_end(Version version);

/// What a resource's address asks for: the row to call and its input. Null if it is no address of ours.
struct ResourceCall {
  const api::Operation* operation = nullptr;
  json::object input = {};
};
ResourceCall resource_call(std::string_view uri);

}  // namespace cru::mcp
