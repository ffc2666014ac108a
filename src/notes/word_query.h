#pragma once
/// Rules of looking for words: which pieces are ranked when the words of a query are common. To rank a piece
/// costs far more than to find it.
#include <string>
#include <vector>

namespace cru::notes {

struct Term {
  std::string word;
  size_t pieces = 0;  ///< that have it; whoever counts may stop beyond `most`
};

/// The words that are looked for, each once: stop words only if there is nothing else. At most 32.
std::vector<std::string> terms_of(const std::vector<std::string>& words);

/// Queries as FTS5 reads them, to be asked in this order until enough is found. Any of the words, if no more
/// than `most` pieces have them. Else what has one of the rare words, then all of the common ones; if all are
/// common, what has all of them, then the rarest and another.
std::vector<std::string> queries_for(std::vector<Term> terms, size_t most);

}  // namespace cru::notes
