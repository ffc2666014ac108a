#pragma once
/// For tests: whether they run under the thread sanitizer, which changes what some calls of the system do. It
/// makes a vfork a fork, and where a process was forked beside other threads no signal interrupts its read.

namespace cru {

#if __has_feature(thread_sanitizer)
constexpr bool has_thread_sanitizer = true;
#else
constexpr bool has_thread_sanitizer = false;
#endif

}  // namespace cru
