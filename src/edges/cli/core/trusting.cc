#include "edges/cli/core/trusting.h"

#include <fmt/format.h>

#include "edges/cli/core/context.h"

namespace cru::cli {

Flag trust_once_flag() {
  return {.name = "trust-once",
          .summary = "trust the project's files as they are now, until the daemon ends (for CI)"};
}

Result<size_t> trust_all(client::Client& client, bool once) {
  auto listing = client.get("/trust");
  if (!listing) return fail(listing.error());
  json::object items;
  const auto* waiting = array_at(*listing, "waiting");
  for (const auto& each : waiting ? *waiting : json::array())
    if (each.is_object() && text_or(each.get_object(), "state") != "refused")
      items[text_or(each.get_object(), "path")] = text_or(each.get_object(), "sha256");
  auto count = items.size();
  if (count == 0) return count;
  auto granted = client.post("/trust", {{"items", std::move(items)}, {"once", once}});
  if (!granted) return fail(granted.error());
  return count;
}

Result<> trust_once_if_asked(Context& context, const Args& args) {
  if (!args.has("trust-once")) return {};
  auto trusted = trust_all(context.client(), true);
  if (!trusted) return fail(trusted.error());
  if (*trusted > 0)
    context.note(fmt::format("{} of the project {} trusted until the daemon ends",
                             *trusted == 1 ? std::string("1 file") : fmt::format("{} files", *trusted),
                             *trusted == 1 ? "is" : "are"));
  return {};
}

}  // namespace cru::cli
