#pragma once
/// Which paths a confined program may not change, and which it never sees. For `cru confine`.
#include <string>
#include <vector>

namespace cru {

/// What a program may not change even where it may write: with these it could widen its own rights, or have
/// somebody else run something for it.
std::vector<std::string> guarded_paths(const std::string& root);

/// The daemon's own, what others talked of, the keys of providers, and where other programs of the user
/// listen that would do anything for whoever asks.
std::vector<std::string> hidden_paths(const std::string& root);
/// Those of them that are files to be read, and are there.
std::vector<std::string> secret_paths(const std::string& root);

/// Where programs may keep what they can make again; empty if there is no home.
std::string cache_folder();

/// Those of the guarded paths that are not there: no mount can guard them.
std::vector<std::string> absent_paths(const std::string& root);
/// Moves aside what has come about at these paths, so that nobody reads it by mistake; one line of text for
/// each. Empty: nothing has.
std::string set_aside_new(const std::vector<std::string>& absent);

}  // namespace cru
