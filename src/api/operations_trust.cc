// Trust: what a repository brings, and what of it a person lets count.
#include "api/coordination_fields.h"
#include "api/operations_crew.h"

namespace cru::api {
namespace {

constexpr auto trust_schema = R"({"type":"object","required":["waiting","trusted"],"properties":{
"waiting":{"type":"array","items":{"type":"object","required":["path","state"],"properties":{
"path":{"type":"string"},"state":{"enum":["new","changed","refused"]},
"reasons":{"type":"array","items":{"type":"string"}},"sha256":{"type":["string","null"]},
"diff":{"type":"string"},"problem":{"type":["string","null"]}}}},
"trusted":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},
"sha256":{"type":"string"},"trusted_at":{"type":"string"},"once":{"type":"boolean"}}}}}})";

}  // namespace

void add_trust(std::vector<Operation>& table) {
  table.push_back({.name = "list_trust",
                   .summary = "Lists the project's files that are not trusted yet, with their changes",
                   .routes = {{"GET", "/trust"}},
                   .fields = {{.name = "path",
                               .in = In::query,
                               .summary = "also this file of the project, whatever it is"}},
                   .callers = person,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = trust_schema});
  table.push_back({.name = "trust_content",
                   .summary = "Trusts files of the project as they are now",
                   .routes = {{"POST", "/trust"}},
                   .fields = {{.name = "items",
                               .type = Type::text_map,
                               .required = true,
                               .summary = "each file's path and the SHA-256 that was shown",
                               .max = 4096},
                              {.name = "once",
                               .type = Type::boolean,
                               .summary = "only until the daemon ends, without recording it",
                               .fallback = "false"}},
                   .callers = person,
                   .idempotent = true,
                   .reply = trust_schema});
  table.push_back({.name = "revoke_trust",
                   .summary = "Forgets that files of the project are trusted",
                   .routes = {{"POST", "/trust/revoke"}},
                   .fields = {texts("paths", "the files; default: all", 4096)},
                   .callers = person,
                   .idempotent = true,
                   .reply = trust_schema});
}

}  // namespace cru::api
