#pragma once
/// Output: a run's lines on our own streams. A terminal gets text made safe; a
/// file or pipe gets exactly the bytes that the run wrote.
#include <string>

#include "base/json.h"
#include "base/time.h"
#include "edges/client/client.h"

namespace cru::cli {

class Context;
using client::Client;

class OutputPrinter {
 public:
  struct Options {
    bool timestamps = false;
    bool raw = false;  ///< exact bytes on a terminal too
  };
  OutputPrinter(const Context& context, Options options) : context_(context), options_(options) {}

  /// Writes the records of one page, in order.
  void print(const json::array& lines);
  /// Ends a line that the run left open, so that what follows starts at the margin. Terminals only.
  void finish();

 private:
  void print_line(const json::object& line);
  void flush();
  const Context& context_;
  Options options_;
  int fd_ = 1;
  std::string pending_;
  bool line_open_[3] = {false, false, false};
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
  bool raw = false;  ///< not in words: the lines as the program printed them
};
std::string page_target(const PageRequest& request);
/// One page. Errors: the client's.
Result<json::object> read_page(Client& client, const PageRequest& request);

/// True for completed, failed and killed.
bool has_ended(std::string_view status);

}  // namespace cru::cli
