#include "edges/cli/demo.h"
namespace cru::cli {
Result<int> run_demo(Context&, bool) { return fail(Code::internal, "soon"); }
}  // namespace cru::cli
