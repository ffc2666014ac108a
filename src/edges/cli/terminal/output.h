#pragma once
/// Output: a run's lines on our own streams. A terminal gets text made safe, with
/// its colours; a file or pipe gets the bytes that the run wrote, without them.
#include <string>

#include "base/json.h"
#include "base/time.h"
#include "edges/cli/terminal/colours.h"
#include "edges/client/client.h"

namespace cru::cli {

class Context;
using client::Client;

class OutputPrinter {
 public:
  struct Options {
    bool timestamps = false;
    bool raw = false;  ///< exact bytes, wherever they go
  };
  OutputPrinter(const Context& context, Options options);

  /// Writes the records of one page, in order.
  void print(const json::array& lines);
  /// Writes what is held back. On a terminal, ends a line and colours that the run left open, so that what
  /// follows starts at the margin and in the usual ones.
  void finish();

 private:
  void print_line(const json::object& line);
  void flush();
  ColourFilter& colours_of(int fd) { return fd == 2 ? err_colours_ : out_colours_; }
  const Context& context_;
  Options options_;
  int fd_ = 1;
  std::string pending_;
  bool line_open_[3] = {false, false, false};
  ColourFilter out_colours_, err_colours_;
};

/// The exact bytes of a record, without the newline that may follow.
std::string bytes_of(const json::object& line);

/// Target of one page of output. `wait` of zero answers at once.
struct PageRequest {
  std::string id;
  int64_t since = 0;
  int64_t limit = 1000;
  int64_t tail = 0;
  std::string stream = {};
  std::chrono::seconds wait{0};
  bool raw = false;       ///< not in words: the lines as the program printed them
  bool with_run = false;  ///< the last page has the run's record; earlier versions refuse this
};
std::string page_target(const PageRequest& request);
/// One page. Errors: the client's.
Result<json::object> read_page(Client& client, const PageRequest& request);

/// True for completed, failed and killed.
bool has_ended(std::string_view status);

}  // namespace cru::cli
