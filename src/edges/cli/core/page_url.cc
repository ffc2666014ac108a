#include "edges/cli/core/page_url.h"

#include "edges/cli/core/context.h"

namespace cru::cli {

Result<std::string> page_url(Context& context) {
  auto made = context.client().post("/pairings", {{"label", "web page"}, {"reusable", true}});
  if (!made) return fail(made.error());
  return std::string(text_or(*made, "url"));
}

}  // namespace cru::cli
