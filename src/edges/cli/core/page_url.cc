#include "edges/cli/core/page_url.h"

#include <fmt/format.h>

#include "edges/cli/core/context.h"
#include "platform/files/files.h"

namespace cru::cli {

Result<std::string> page_url(Context& context) {
  if (auto running = context.client().connect(); !running) return fail(running.error());
  auto trimmed = [](Result<std::string> text) {
    while (text && (text->ends_with('\n') || text->ends_with('/'))) text->pop_back();
    return text;
  };
  auto url = trimmed(read_file(context.project.url_file(), 4096));
  auto token = trimmed(read_file(context.project.token_file(), 4096));
  if (!url || !token)
    return fail(Code::not_found,
                "the daemon does not serve the web page: " + (url ? token : url).error().message, {},
                "to see the reason, run: cru daemon logs");
  return fmt::format("{}/#token={}", *url, *token);
}

}  // namespace cru::cli
