#include "model/io/logs/log_lines.h"

#include "model/io/log_text.h"
#include "model/io/trace_stream.h"

namespace stepsight {

namespace {

class LineSplitter {
 public:
  explicit LineSplitter(const LineSink& sink) : sink_(sink) {}

  void take(char c) {
    if (c == '\n' || c == '\r') {
      end_line();
    } else if (line_.size() < longest_log_line) {
      line_ += c;
    } else if (!cut_) {
      cut_ = true;
      ++cuts_;
    }
  }

  void end_line() {
    if (!line_.empty()) {
      if (line_.find('\x1b') == std::string::npos) {
        sink_(line_);
      } else {
        sink_(without_ansi(line_));
      }
    }
    line_.clear();
    cut_ = false;
  }

  [[nodiscard]] std::size_t cuts() const { return cuts_; }

 private:
  const LineSink& sink_;
  std::string line_;
  std::size_t cuts_ = 0;
  bool cut_ = false;
};

}  // namespace

std::size_t read_lines(const std::string& path, const LineSink& sink) {
  const std::unique_ptr<TraceStream> stream = open_trace(path);
  LineSplitter splitter(sink);
  using Traits = TraceStream::traits_type;
  for (auto c = stream->sbumpc(); !Traits::eq_int_type(c, Traits::eof()); c = stream->sbumpc()) {
    splitter.take(Traits::to_char_type(c));
    stream->token_done();
  }
  splitter.end_line();
  return splitter.cuts();
}

std::size_t read_lines_text(std::string_view text, const LineSink& sink) {
  LineSplitter splitter(sink);
  for (const char c : text) splitter.take(c);
  splitter.end_line();
  return splitter.cuts();
}

}  // namespace stepsight
