// A log as a stream of lines, whatever its size: gzip undone on the way, colours and carriage
// returns taken off, nothing held but the line.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace stepsight {

// A longer line is cut there (a single value of no log that people have is longer); the rest of it
// is passed over.
inline constexpr std::size_t longest_log_line = 64 * 1024;

// Lines end at "\n" or "\r" (progress bars). Returns how many lines were cut.
using LineSink = std::function<void(std::string_view line)>;

// UserError when the file cannot be read, or (on reading) is damaged gzip.
std::size_t read_lines(const std::string& path, const LineSink& sink);
std::size_t read_lines_text(std::string_view text, const LineSink& sink);

}  // namespace stepsight
