#pragma once
/// Troubles: what is not well with this process just now, a sentence each, for the people who ask how it is
/// (`cru doctor`, `cru ps`, the page). They go away when whoever told of one says that it is over. Safe from
/// any thread; bounded, for each has a key and there are few.
#include <string>
#include <vector>

namespace cru {

/// Tells, or tells anew, the trouble `key`. True if it is news: nobody had told of it.
bool tell_trouble(const std::string& key, std::string sentence);
/// True if there was one.
bool end_trouble(const std::string& key);
bool has_trouble(const std::string& key);
/// By key.
std::vector<std::string> troubles();

}  // namespace cru
