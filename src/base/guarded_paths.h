#pragma once
/// Guarded paths: what an agent may not change, wherever else it may write: with these it could widen its own
/// rights, or have somebody else run something for it. One list, for file tools and confined commands alike.
/// Rules only; whether a path is there does not matter.
#include <span>
#include <string_view>

namespace cru {

/// Relative to the project. Each stands for itself and all below.
std::span<const std::string_view> guarded_paths();
/// Of a real path, relative to the project: whether it is one of them or below one. `.coven` and all of
/// `.git` are guarded in every folder: a nested repository can run something as well.
bool is_guarded(std::string_view path);

/// `path` is `folder` or below it.
bool is_or_is_below(std::string_view path, std::string_view folder);
/// One of the parts between the slashes is `part`.
bool has_part(std::string_view path, std::string_view part);

}  // namespace cru
