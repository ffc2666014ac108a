#pragma once
/// Columns: which columns of a table give way where the terminal is narrow. Who it is, how it is, since when
/// and what it does stay; numbers that few need go first. Pure.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cru::cli {

/// A table as texts: a line of titles, then the rows, all with one cell for each field.
using Cells = std::vector<std::vector<std::string>>;

/// How wide each column is so that all fit into `width`, with two spaces between them; 0: it is left out.
/// What cannot be made to fit is cut at the edge.
std::vector<size_t> fit_columns(std::span<const std::string_view> fields, const Cells& cells, size_t width);
/// Where ids are long and made up, the beginnings that tell them apart, and of conversations the ends: that
/// much is enough to type.
void shorten_ids(std::span<const std::string_view> fields, Cells& cells);

}  // namespace cru::cli
