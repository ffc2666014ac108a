// Budgets: how much may be spent, and what was. A person's alone: an agent must not raise its own.
#include "api/operations_crew.h"

namespace cru::api {
namespace {

constexpr auto budget_schema = R"({"type":"object","required":["scope","tokens"],"properties":{
"scope":{"type":"string"},"budget":{"type":["string","null"]},"source":{"type":["string","null"]},
"when":{"enum":["pause","stop"]},"limits":{"type":"object"},"percent":{"type":["integer","null"]},
"tokens":{"type":"integer"},"usd":{"type":"number"},"unpriced_tokens":{"type":"integer"},"turns":{"type":"integer"},
"seconds":{"type":"number"},"reserved_tokens":{"type":"integer"},"closed":{"type":"boolean"},
"damaged":{"type":"boolean"},"spent":{"type":"string"},"used":{"type":["string","null"]}}})";

constexpr Field limit_in_query{.name = "limit",
                               .type = Type::integer,
                               .in = In::query,
                               .summary = "at most this many",
                               .min = 1,
                               .max = 1000,
                               .fallback = "200"};

constexpr Field scope_in_path{
    .name = "scope",
    .in = In::path,
    .required = true,
    .summary = "chat:ID, run:ID, member:ID or NAME, team:NAME, or day; the beginning of an id is enough",
    .min = 1,
    .max = 200};

}  // namespace

void add_budgets(std::vector<Operation>& table) {
  table.push_back({.name = "top",
                   .summary = "Shows all members with their spending and activity, highest spending first",
                   .routes = {{"GET", "/top"}},
                   .fields = {limit_in_query},
                   .callers = person,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = R"({"type":"object","required":["crew"],"properties":{"crew":{"type":"array"},
"more":{"type":"boolean"},"tokens_per_minute":{"type":"integer"},"today":{"type":["object","null"]},
"at":{"type":"string"}}})"});
  table.push_back(
      {.name = "list_budgets",
       .summary = "Lists budgets and their spending",
       .routes = {{"GET", "/budgets"}},
       .fields = {{.name = "all",
                   .type = Type::boolean,
                   .in = In::query,
                   .summary = "also list scopes without a budget",
                   .fallback = "false"},
                  limit_in_query},
       .callers = person,
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "budget list", .list = "budgets", .columns = {"scope", "budget", "used", "spent"}},
       .reply = R"({"type":"object","required":["budgets"],"properties":{"budgets":{"type":"array"}}})"});
  table.push_back({.name = "show_budget",
                   .summary = "Shows the budget of a chat, run, member, team or day, and its spending",
                   .routes = {{"GET", "/budgets/{scope}"}},
                   .fields = {scope_in_path},
                   .callers = person,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "budget show", .arguments = {"scope"}},
                   .reply = budget_schema});
  auto scope = scope_in_path;
  scope.in = In::body;
  table.push_back(
      {.name = "set_budget",
       .summary = "Sets, raises or clears the budget of a chat, run, member, team or day",
       .routes = {{"POST", "/budgets"}},
       .fields = {scope,
                  {.name = "budget",
                   .summary = "the limits: tokens=200k,usd=5,turns=100,time=1h,when=pause",
                   .max = 256},
                  {.name = "add", .summary = "raise these limits by the given amounts", .max = 256},
                  {.name = "clear",
                   .type = Type::boolean,
                   .summary = "remove the budget that was set; that of the configuration applies again",
                   .fallback = "false"}},
       .callers = person,
       .cli = {.verb = "budget set", .arguments = {"scope", "budget"}},
       .reply = budget_schema});
}

}  // namespace cru::api
