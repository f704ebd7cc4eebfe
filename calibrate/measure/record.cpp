#include "calibrate/measure/record.h"

#include <array>
#include <charconv>
#include <cmath>

namespace stepsight::calibrate {
namespace {

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hex[byte >> 4U];
      out += hex[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

struct ValueWriter {
  std::string& out;

  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { out += std::to_string(value); }
  void operator()(const std::string& value) const { append_string(out, value); }
  void operator()(double value) const {
    if (!std::isfinite(value)) {
      out += "null";
      return;
    }
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(
        buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 7);
    out.append(buffer.data(), end.ptr);
  }
};

}  // namespace

const FieldValue* find(const Record& record, std::string_view key) {
  for (const Field& entry : record) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string to_json(const Record& record) {
  std::string out = "{";
  for (const Field& entry : record) {
    if (out.size() > 1) out += ", ";
    append_string(out, entry.key);
    out += ": ";
    std::visit(ValueWriter{out}, entry.value);
  }
  return out + "}";
}

}  // namespace stepsight::calibrate
