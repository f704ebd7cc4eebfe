#include "calibrate/measure/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "model/errors.h"

namespace stepsight::calibrate {
namespace {

template <typename Number>
Number parse_number(std::string_view flag, std::string_view text, Number least, Number most) {
  Number value{};
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc{} || r.ptr != text.data() + text.size() ||
      !(value >= least && value <= most)) {
    std::ostringstream message;
    message << flag << ": '" << text << "' is no number from " << least << " to " << most;
    throw UserError(message.str());
  }
  return value;
}

// Files are shared with others, whom the folders of a machine do not concern.
std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Walks over the arguments; a flag takes its value from the next one or from behind a '='.
class Arguments {
 public:
  explicit Arguments(std::span<const char* const> all) : all_(all) {}

  bool next() {
    if (at_ >= all_.size()) return false;
    flag_ = all_[at_++];
    const std::size_t equals = flag_.find('=');
    joined_ = flag_.starts_with("--") && equals != std::string_view::npos;
    if (joined_) {
      value_ = flag_.substr(equals + 1);
      flag_ = flag_.substr(0, equals);
    }
    return true;
  }

  std::string_view flag() const { return flag_; }
  bool joined() const { return joined_; }

  std::string value() {
    if (joined_) return std::string(value_);
    if (at_ >= all_.size()) throw UserError(std::string(flag_) + " needs a value; see --help");
    return all_[at_++];
  }

 private:
  std::span<const char* const> all_;
  std::size_t at_ = 0;
  std::string_view flag_;
  std::string_view value_;
  bool joined_ = false;
};

// True when the flag was one of the switches.
bool take_switch(Options& options, std::string_view flag) {
  if (flag == "--help" || flag == "-h") {
    options.help = true;
  } else if (flag == "--quick") {
    options.full = false;
  } else if (flag == "--full") {
    options.full = true;
  } else if (flag == "--list") {
    options.list = true;
  } else if (flag == "--resume") {
    options.resume = true;
  } else {
    return false;
  }
  return true;
}

void take_extra(const Tool& tool, Options& options, Arguments& arguments) {
  const std::string flag(arguments.flag());
  const auto row = std::find_if(tool.extras.begin(),
                                tool.extras.end(),
                                [&flag](const ExtraFlag& e) { return e.name == flag; });
  if (row == tool.extras.end()) throw UserError("unknown argument '" + flag + "'; see --help");
  if (row->value.empty() && arguments.joined()) throw UserError(flag + " takes no value");
  options.extras.emplace_back(flag, row->value.empty() ? "yes" : arguments.value());
}

std::string command_line(const Tool& tool, std::span<const char* const> arguments) {
  std::string command(tool.name);
  for (const std::string_view argument : arguments) {
    command += ' ';
    command += last_part(argument);
  }
  return command;
}

}  // namespace

Options parse_options(const Tool& tool, std::span<const char* const> arguments) {
  Options options;
  Arguments walk(arguments);
  while (walk.next()) {
    const std::string_view flag = walk.flag();
    if (!walk.joined() && take_switch(options, flag)) continue;
    if (flag == "-o" || flag == "--output") {
      options.output = walk.value();
    } else if (flag == "--device") {
      options.device = parse_number<int>(flag, walk.value(), 0, 1023);
    } else if (flag == "--budget") {
      options.budget_s = parse_number<double>(flag, walk.value(), 0.1, 86400);
    } else {
      take_extra(tool, options, walk);
    }
  }
  if (options.resume && options.output.empty()) throw UserError("--resume needs -o FILE");
  if (options.budget_s <= 0) {
    options.budget_s = options.full ? tool.full_budget_s : tool.quick_budget_s;
  }
  options.command = command_line(tool, arguments);
  return options;
}

std::string extra(const Options& options, std::string_view flag, std::string_view otherwise) {
  for (const auto& [name, value] : options.extras) {
    if (name == flag) return value;
  }
  return std::string(otherwise);
}

std::string help_text(const Tool& tool) {
  std::ostringstream out;
  const auto line = [&out](const std::string& flag, std::string_view help) {
    out << "  " << flag << std::string(flag.size() < 20 ? 20 - flag.size() : 1, ' ') << help
        << '\n';
  };
  out << tool.name << ": " << tool.summary << "\n\nusage: " << tool.name << " [flags]\n\nflags\n";
  line("-o FILE", "write the measurement there (JSON; default: standard output at the end)");
  line("--quick, --full", "few points or many; quick is the default");
  line("--budget S", "stop after S seconds with what there is");
  line("--resume", "keep the points that FILE already holds and measure the others");
  line("--list", "print what would be measured; needs no GPU");
  line("--device I", "GPU to use (default 0)");
  for (const ExtraFlag& row : tool.extras) {
    line(std::string(row.name) + (row.value.empty() ? "" : " ") + std::string(row.value), row.help);
  }
  out << "\nexample\n  " << tool.example << '\n';
  return out.str();
}

}  // namespace stepsight::calibrate
