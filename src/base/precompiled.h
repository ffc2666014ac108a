// Precompiled for every room: what nearly all of them include and what takes longest to read.
// Files still include what they use; `make test` and `make build` share this list.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <coroutine>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
