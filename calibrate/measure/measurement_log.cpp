#include "calibrate/measure/measurement_log.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "model/errors.h"

namespace stepsight::calibrate {
namespace {

constexpr std::int64_t schema = 1;

std::string key_of(const Record& identity) {
  return to_json(identity);
}

// The part of a stored point that comes before its time.
Record identity_of(const Record& stored) {
  Record identity;
  for (const Field& entry : stored) {
    if (entry.key == "median_us") break;
    identity.push_back(entry);
  }
  return identity;
}

Record identity_of(const std::string& op, const Record& shape) {
  Record identity{field("op", op)};
  identity.insert(identity.end(), shape.begin(), shape.end());
  return identity;
}

std::string text_of(const Record& record, std::string_view key) {
  const FieldValue* value = find(record, key);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> buffer{};
  ::gmtime_r(&now, &parts);
  std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return buffer.data();
}

Record to_record(const Point& point) {
  Record record = identity_of(point.op, point.shape);
  record.push_back(field("median_us", point.time_us.median));
  record.push_back(field("q1_us", point.time_us.q1));
  record.push_back(field("q3_us", point.time_us.q3));
  record.push_back(field("samples", point.time_us.n));
  record.insert(record.end(), point.results.begin(), point.results.end());
  return record;
}

MeasurementLog::MeasurementLog(const Tool& tool, Options options, std::string gpu)
    : tool_(tool.name),
      options_(std::move(options)),
      gpu_(std::move(gpu)),
      started_(utc_now()),
      written_(std::chrono::steady_clock::now()) {
  if (options_.resume) read_earlier();
}

void MeasurementLog::read_earlier() {
  std::ifstream file(options_.output, std::ios::binary);
  if (!file) return;  // nothing measured yet: --resume in a script's first run
  constexpr std::size_t largest_file = 64U << 20U;
  std::string content;
  content.assign(std::istreambuf_iterator<char>(file), {});
  if (content.size() > largest_file) throw UserError(options_.output + ": larger than 64 MiB");
  const ParsedFile earlier = parse_measurement(content, options_.output);
  Record machine;
  for (const auto& [name, section] : earlier.sections) {
    if (name == "machine") machine = section;
  }
  if (text_of(earlier.top, "tool") != tool_ || text_of(machine, "gpu") != gpu_) {
    throw UserError(options_.output + ": holds '" + text_of(earlier.top, "tool") + "' of '" +
                    text_of(machine, "gpu") + "', not '" + tool_ + "' of '" + gpu_ + "'");
  }
  for (const Record& point : earlier.points) {
    if (keys_.insert(key_of(identity_of(point))).second) points_.push_back(point);
  }
  kept_ = points_.size();
}

void MeasurementLog::set_top(const Field& entry) {
  std::erase_if(top_, [&entry](const Field& known) { return known.key == entry.key; });
  top_.push_back(entry);
}

void MeasurementLog::set_section(const std::string& name, Record section) {
  for (auto& [known, record] : sections_) {
    if (known == name) {
      record = std::move(section);
      return;
    }
  }
  sections_.emplace_back(name, std::move(section));
}

bool MeasurementLog::has(const std::string& op, const Record& shape) const {
  return keys_.contains(key_of(identity_of(op, shape)));
}

void MeasurementLog::add(const Point& point) {
  if (!std::isfinite(point.time_us.median) || point.time_us.median <= 0) {
    throw std::logic_error("measured time of " + point.op + " is not positive");
  }
  const Record record = to_record(point);
  std::set<std::string> names;
  for (const Field& entry : record) {
    if (!names.insert(entry.key).second) throw std::logic_error(point.op + " has two " + entry.key);
  }
  if (!keys_.insert(key_of(identity_of(point.op, point.shape))).second) return;
  points_.push_back(record);
  const auto now = std::chrono::steady_clock::now();
  if (now - written_ < std::chrono::seconds(2) || options_.output.empty()) return;
  write("running");
  written_ = now;
}

std::string MeasurementLog::text(const std::string& status) const {
  Record top{field("schema", schema),
             field("tool", tool_),
             field("status", status),
             field("started", started_),
             field("written", utc_now()),
             field("command", options_.command),
             field("level", options_.full ? "full" : "quick"),
             field("points_kept", kept_)};
  top.insert(top.end(), top_.begin(), top_.end());
  // One section and one point a line, so that two runs can be compared with diff.
  std::string out = to_json(top);
  out.pop_back();
  for (const auto& [name, record] : sections_) out += ",\n\"" + name + "\": " + to_json(record);
  out += ",\n\"points\": [";
  for (std::size_t i = 0; i < points_.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    out += to_json(points_[i]);
  }
  return out + "\n]}\n";
}

void MeasurementLog::write(const std::string& status) const {
  const std::string temporary = options_.output + ".tmp";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text(status);
  file.close();
  if (!file || std::rename(temporary.c_str(), options_.output.c_str()) != 0) {
    throw UserError(options_.output + ": cannot be written");
  }
}

void MeasurementLog::finish(const std::string& status) {
  if (options_.output.empty()) {
    std::cout << text(status);
  } else {
    write(status);
  }
}

}  // namespace stepsight::calibrate
