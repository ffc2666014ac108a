#pragma once
/// For tests: how long they wait for what must come. It is one limit for all of them, far beyond what the
/// slowest machine takes, so that it ends a hang with a message and decides nothing else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

namespace cru {

constexpr auto patience = std::chrono::minutes(5);

/// Looks until `holds`; false once the patience is at its end.
template <class F>
bool eventually(F holds) {
  for (auto end = std::chrono::steady_clock::now() + patience; !holds();
       std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

/// Whether what was promised comes. If not, says in which test: an assertion after it ends the whole program.
template <class Future>
bool comes(const Future& future) {
  if (future.wait_for(patience) == std::future_status::ready) return true;
  if (const auto* test = testing::UnitTest::GetInstance()->current_test_info())
    fmt::print(stderr, "{}.{}: what was promised did not come\n", test->test_suite_name(), test->name());
  return false;
}

/// Whether it is there by now.
template <class Future>
bool is_there(const Future& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace cru
