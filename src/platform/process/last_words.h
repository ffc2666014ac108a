#pragma once
/// LastWords: a process that ends well whatever happens to it. On a crash, a signal of one, or when its time
/// is over, it appends a line that was prepared to a file, and exits with 0.
#include <array>
#include <string>

#include "base/time.h"

namespace cru {

/// Prepared beforehand: once it is needed nothing can be allocated.
struct LastWords {
  struct Place {
    std::string folder = {};  ///< made if need be, with those above it
    std::string file = {};    ///< none if empty
  };
  std::array<Place, 2> places = {};  ///< the first that can be written to is taken
  std::string timed_out, crashed;    ///< the lines, each with its end; 511 bytes at most
};

/// Arms the time limit and the handlers. The first call wins the clock; a later one changes the words.
void prepare_last_words(const LastWords& words, Duration limit);

}  // namespace cru
