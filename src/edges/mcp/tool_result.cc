#include "edges/mcp/tool_result.h"

#include "edges/mcp/catalog.h"

namespace cru::mcp {

std::string tool_result(std::string_view reply, bool is_error, Version version) {
  std::string object;
  if (reply.starts_with('{')) {
    append_line(object, reply);
  } else {
    object = R"({"result":)";
    append_line(object, reply);
    object += '}';
  }
  std::string out;
  out.reserve(2 * object.size() + object.size() / 4 + 128);
  out += R"({"content":[{"type":"text","text":)";
  append_json_string(out, object);
  out += R"(}],"structuredContent":)";
  out += object;
  if (is_error) out += R"(,"isError":true)";
  out += result_end(version);
  return out;
}

}  // namespace cru::mcp
