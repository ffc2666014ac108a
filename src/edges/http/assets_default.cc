#include "edges/http/assets.h"

namespace cru::edges {

[[gnu::weak]] std::span<const Asset> page_assets() { return {}; }

}  // namespace cru::edges
