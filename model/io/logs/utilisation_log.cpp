#include "model/io/logs/utilisation_log.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/io/log_text.h"
#include "model/io/logs/log_fields.h"
#include "model/io/logs/log_lines.h"

namespace stepsight {

namespace {

constexpr std::size_t most_samples = 50'000;
constexpr std::size_t most_gpus = 64;

class Reader {
 public:
  void line(std::string_view line) {
    line = trimmed(line);
    if (line.empty()) return;
    const bool comma = line.find(',') != std::string_view::npos;
    if (line.starts_with('#')) {
      if (!comma) read_dmon_header(line);
    } else if (line.find("utilization.gpu") != std::string_view::npos) {
      read_csv_header(line);
    } else if (busy_) {
      read_sample(comma_ ? split(line, ',') : tokens_of(line));
    }
  }

  UtilisationSamples finish(const std::string& file) {
    if (!busy_) {
      throw UserError(
          file +
          ": no header names a column of utilisation: expected the text of `nvidia-smi dmon` or "
          "of `nvidia-smi --query-gpu=index,utilization.gpu,clocks.sm --format=csv -l 1`");
    }
    if (out_.gpus.empty()) throw UserError(file + ": holds no sample of utilisation");
    out_.file = file;
    if (unread_ > 0) out_.skipped.push_back(fmt::format("lines that are no sample: {}", unread_));
    if (beyond_ > 0)
      out_.skipped.push_back(
          fmt::format("samples beyond the first {} of a GPU: {}", most_samples, beyond_));
    return std::move(out_);
  }

 private:
  void clear_columns() { gpu_ = busy_ = power_ = clock_ = {}; }

  // "# gpu   pwr gtemp mtemp    sm   mem ... mclk  pclk"; with -o DT "#Date Time gpu ...". The
  // second header line holds units.
  void read_dmon_header(std::string_view line) {
    const auto words = tokens_of(line.substr(1));
    if (std::ranges::find(words, "sm") == words.end()) return;
    clear_columns();
    comma_ = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "gpu") gpu_ = i;
      if (words[i] == "sm") busy_ = i;
      if (words[i] == "pwr") power_ = i;
      if (words[i] == "pclk") clock_ = i;
    }
    columns_ = words.size();
  }

  void read_csv_header(std::string_view line) {
    const auto cells = split(line, ',');
    clear_columns();
    comma_ = true;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string_view name = trimmed(cells[i]);
      if (name == "index") gpu_ = i;
      if (name.starts_with("utilization.gpu")) busy_ = i;
      if (name.starts_with("power.draw")) power_ = i;
      if (name.starts_with("clocks.sm") || name.starts_with("clocks.current.sm")) clock_ = i;
    }
    columns_ = cells.size();
  }

  void read_sample(const std::vector<std::string_view>& cells) {
    if (cells.size() != columns_) {
      ++unread_;
      return;
    }
    const auto number = [&](std::optional<std::size_t> column) -> std::optional<double> {
      if (!column) return std::nullopt;
      const auto value = leading_number(cells[*column]);
      return value ? std::optional(value->value) : std::nullopt;
    };
    const auto gpu = gpu_ ? number(gpu_) : std::optional(0.0);
    const auto busy = number(busy_);
    if (!gpu || !busy || *gpu < 0 || *gpu > 1e6 || *busy < 0 || *busy > 100) {
      ++unread_;
      return;
    }
    const auto index = static_cast<std::int64_t>(*gpu);
    if (!out_.gpus.contains(index) && out_.gpus.size() == most_gpus) return;
    GpuSamples& samples = out_.gpus[index];
    if (samples.busy.size() == most_samples) {
      ++beyond_;
      return;
    }
    samples.busy.push_back(static_cast<float>(*busy));
    add(number(power_), 1e5, samples.power_sum, samples.power_count);
    add(number(clock_), 1e5, samples.clock_sum, samples.clock_count);
  }

  static void add(std::optional<double> value, double most, double& sum, std::int64_t& count) {
    if (!value || *value <= 0 || *value > most) return;
    sum += *value;
    ++count;
  }

  UtilisationSamples out_;
  std::optional<std::size_t> gpu_, busy_, power_, clock_;
  std::size_t columns_ = 0;
  bool comma_ = false;
  std::int64_t unread_ = 0;
  std::int64_t beyond_ = 0;
};

}  // namespace

UtilisationSamples read_utilisation(const std::string& path) {
  Reader reader;
  read_lines(path, [&](std::string_view line) { reader.line(line); });
  return reader.finish(path);
}

UtilisationSamples read_utilisation_text(const std::string& file, std::string_view text) {
  Reader reader;
  read_lines_text(text, [&](std::string_view line) { reader.line(line); });
  return reader.finish(file);
}

}  // namespace stepsight
