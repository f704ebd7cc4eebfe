// A file as a stream of bytes for a parser that reads as it goes: gzip undone on the way, in a
// buffer of fixed size, whatever the size of the file.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <streambuf>
#include <string>

namespace stepsight {

class TraceStream : public std::streambuf {
 public:
  // Fills up to `size` bytes and returns how many; 0 at the end. Throws UserError.
  using Read = std::function<std::size_t(char* to, std::size_t size)>;

  TraceStream(std::string name, Read read) : name_(std::move(name)), read_(std::move(read)) {}

  // How messages call the file.
  [[nodiscard]] const std::string& name() const { return name_; }
  // Bytes taken so far, after decompression.
  [[nodiscard]] std::uint64_t offset() const {
    return before_ + static_cast<std::uint64_t>(gptr() - eback());
  }
  // The parser has finished a token here. One that is longer than `longest_token` is refused, since
  // a parser has to keep it whole.
  void token_done() { token_ = offset(); }
  static constexpr std::uint64_t longest_token = 16 * 1024 * 1024;

  // UserError "file: byte N: what".
  [[noreturn]] void fail(const std::string& what) const;

 protected:
  int_type underflow() override;

 private:
  std::string name_;
  Read read_;
  std::array<char, 1 << 16> buffer_{};
  std::uint64_t before_ = 0;  // bytes of earlier buffers
  std::uint64_t token_ = 0;
};

// A plain or gzip file from its beginning. UserError when it cannot be read, is a directory, or (on
// reading) is damaged or ends early.
// `heard`, if given, is told the size of each piece as it is read.
std::unique_ptr<TraceStream> open_trace(const std::string& path,
                                        std::function<void(std::size_t bytes)> heard = {});

}  // namespace stepsight
