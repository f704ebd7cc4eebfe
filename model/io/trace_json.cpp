#include "model/io/trace_json.h"

#include <cmath>
#include <istream>
#include <string_view>

#include <nlohmann/json.hpp>

namespace stepsight {

void TraceEvent::clear() {
  phase = 0;
  category.clear();
  name.clear();
  start.reset();
  duration.reset();
  thread = -1;
  external_id.reset();
  correlation.reset();
  sequence.reset();
  forward_thread.reset();
  device = 0;
  sizes.clear();
  strides.clear();
  types.clear();
  values.clear();
}

namespace {

using Json = nlohmann::json;

// What the value at hand is.
enum class Key {
  other,
  phase,
  category,
  name,
  start,
  duration,
  thread,
  args,
  external_id,
  correlation,
  sequence,
  forward_thread,
  device,
  sizes,
  strides,
  types,
  values,
  multiprocessors,
  rank,
  world,
};

enum class Part { other, events, devices, distributed };

constexpr std::size_t deepest = 64;

Key event_key(std::string_view k) {
  if (k == "ph") return Key::phase;
  if (k == "cat") return Key::category;
  if (k == "name") return Key::name;
  if (k == "ts") return Key::start;
  if (k == "dur") return Key::duration;
  if (k == "tid") return Key::thread;
  if (k == "args") return Key::args;
  return Key::other;
}

// Older profilers wrote the ids in lower case.
Key args_key(std::string_view k) {
  if (k == "External id" || k == "external id") return Key::external_id;
  if (k == "correlation") return Key::correlation;
  if (k == "Sequence number") return Key::sequence;
  if (k == "Fwd thread id") return Key::forward_thread;
  if (k == "device") return Key::device;
  if (k == "Input Dims" || k == "Input dims") return Key::sizes;
  if (k == "Input Strides") return Key::strides;
  if (k == "Input type") return Key::types;
  if (k == "Concrete Inputs") return Key::values;
  return Key::other;
}

// The parser's callbacks. `depth_` counts open objects and arrays; an event is an object at
// `event_depth_`, its args one below, arrays of inputs two below.
class Handler {
 public:
  Handler(TraceStream& stream, const std::function<void(TraceEvent&)>& take)
      : stream_(stream), take_(take) {}

  TraceHeader header;

  bool null() { return done(); }
  bool boolean(bool /*v*/) { return done(); }
  bool number_integer(Json::number_integer_t v) {
    integer(v);
    return number(static_cast<double>(v));
  }
  bool number_unsigned(Json::number_unsigned_t v) {
    unsigned_integer(v);
    return number(static_cast<double>(v));
  }
  bool number_float(Json::number_float_t v, const std::string& /*text*/) { return number(v); }
  bool string(std::string& v);
  bool binary(Json::binary_t& /*v*/) { return done(); }
  bool key(std::string& k);
  bool start_object(std::size_t /*size*/);
  bool end_object();
  bool start_array(std::size_t /*size*/);
  bool end_array();
  bool parse_error(std::size_t at, const std::string& token, const Json::exception& error);

 private:
  bool done() {
    stream_.token_done();
    return true;
  }
  [[nodiscard]] bool at_event() const { return part_ == Part::events && depth_ == event_depth_; }
  [[nodiscard]] bool at_args() const { return in_args_ && depth_ == event_depth_ + 1; }
  bool number(double v);
  void integer(std::int64_t v);
  void unsigned_integer(std::uint64_t v);
  void id(std::uint64_t v);
  void dimension(std::int64_t v);
  void deeper();

  TraceStream& stream_;
  const std::function<void(TraceEvent&)>& take_;
  TraceEvent event_;
  Part part_ = Part::other;
  Key key_ = Key::other;
  std::string root_key_;
  std::size_t depth_ = 0;
  std::size_t event_depth_ = 3;
  bool in_args_ = false;
};

void Handler::deeper() {
  if (++depth_ > deepest) stream_.fail("values nest deeper than 64 levels: not a profiler's trace");
}

bool Handler::key(std::string& k) {
  if (depth_ == 1) {
    root_key_ = k;
    part_ = Part::other;
    key_ = Key::other;
  } else if (at_event()) {
    key_ = event_key(k);
  } else if (at_args()) {
    key_ = args_key(k);
  } else if (part_ == Part::devices && depth_ == 3) {
    key_ = k == "name" ? Key::name : k == "numSms" ? Key::multiprocessors : Key::other;
  } else if (part_ == Part::distributed && depth_ == 2) {
    key_ = k == "rank" ? Key::rank : k == "world_size" ? Key::world : Key::other;
  } else {
    key_ = Key::other;
  }
  return done();
}

bool Handler::start_object(std::size_t /*size*/) {
  deeper();
  if (depth_ == 2 && root_key_ == "distributedInfo") part_ = Part::distributed;
  if (at_event()) event_.clear();
  if (part_ == Part::events && depth_ == event_depth_ + 1 && key_ == Key::args) in_args_ = true;
  key_ = Key::other;
  return done();
}

bool Handler::end_object() {
  if (at_event()) {
    take_(event_);
  } else if (at_args()) {
    in_args_ = false;
  }
  --depth_;
  return done();
}

bool Handler::start_array(std::size_t /*size*/) {
  deeper();
  if (depth_ == 1) {  // a bare array of events
    part_ = Part::events;
    event_depth_ = 2;
    header.any_events = true;
  } else if (depth_ == 2 && root_key_ == "traceEvents") {
    part_ = Part::events;
    header.any_events = true;
  } else if (depth_ == 2 && root_key_ == "deviceProperties") {
    part_ = Part::devices;
  } else if (in_args_ && depth_ == event_depth_ + 3) {  // the sizes of one input
    std::vector<TraceDims>* list = key_ == Key::sizes     ? &event_.sizes
                                   : key_ == Key::strides ? &event_.strides
                                                          : nullptr;
    if (list != nullptr && list->size() < TraceEvent::most_inputs) list->emplace_back();
  }
  return done();
}

bool Handler::end_array() {
  --depth_;
  return done();
}

bool Handler::string(std::string& v) {
  if (at_event()) {
    if (key_ == Key::phase) event_.phase = v.size() == 1 ? v[0] : '?';
    if (key_ == Key::category) event_.category.swap(v);
    if (key_ == Key::name) event_.name.swap(v);
  } else if (in_args_ && depth_ == event_depth_ + 2) {
    std::vector<std::string>* list = key_ == Key::types    ? &event_.types
                                     : key_ == Key::values ? &event_.values
                                                           : nullptr;
    if (list != nullptr && list->size() < TraceEvent::most_inputs) list->push_back(v);
  } else if (part_ == Part::devices && key_ == Key::name && header.gpu.empty()) {
    header.gpu = v.substr(0, 200);
  }
  return done();
}

void Handler::id(std::uint64_t v) {
  if (key_ == Key::external_id) event_.external_id = v;
  if (key_ == Key::correlation) event_.correlation = v;
  if (key_ == Key::sequence) event_.sequence = v;
  if (key_ == Key::forward_thread) event_.forward_thread = v;
  if (key_ == Key::device) event_.device = static_cast<std::int64_t>(v & 0xffff);
}

void Handler::dimension(std::int64_t v) {
  std::vector<TraceDims>* list = key_ == Key::sizes     ? &event_.sizes
                                 : key_ == Key::strides ? &event_.strides
                                                        : nullptr;
  if (list == nullptr || list->empty()) return;
  TraceDims& dims = list->back();
  if (dims.count < TraceDims::most) dims.at[dims.count] = v;
  ++dims.count;
}

void Handler::integer(std::int64_t v) {
  if (at_event() && key_ == Key::thread) event_.thread = v;
}

void Handler::unsigned_integer(std::uint64_t v) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 62;
  if (v > largest) {
    if (in_args_ && key_ != Key::other) stream_.fail("a number is larger than 2^62");
    return;
  }
  if (at_event() && key_ == Key::thread) event_.thread = static_cast<std::int64_t>(v);
  if (at_args()) id(v);
  if (in_args_ && depth_ == event_depth_ + 3) dimension(static_cast<std::int64_t>(v));
  if (key_ == Key::multiprocessors && header.multiprocessors == 0 && v < 100000) {
    header.multiprocessors = static_cast<int>(v);
  }
  if (key_ == Key::rank) header.rank = static_cast<std::int64_t>(v);
  if (key_ == Key::world) header.world = static_cast<std::int64_t>(v);
}

bool Handler::number(double v) {
  if (at_event() && key_ == Key::start) {
    if (!(std::abs(v) <= 1e17)) stream_.fail("\"ts\" must be within 1e17 us");
    event_.start = v;
  } else if (at_event() && key_ == Key::duration) {
    if (!(v >= 0 && v <= 1e13)) stream_.fail("\"dur\" must be from 0 to 1e13 us");
    event_.duration = v;
  }
  return done();
}

bool Handler::parse_error(std::size_t /*at*/,
                          const std::string& /*token*/,
                          const Json::exception& error) {
  // [json.exception.parse_error.101] parse error at line 1, column 2: what
  std::string what = error.what();
  const std::size_t colon = what.find(": ");
  if (colon != std::string::npos) what.erase(0, colon + 2);
  const bool ended = stream_.sgetc() == std::char_traits<char>::eof();
  if (ended && depth_ > 0) {
    stream_.fail(
        "the file ends in the middle of the trace: was the export or the copy interrupted?");
  }
  if (ended && stream_.offset() == 0) stream_.fail("the file is empty, expected a trace");
  stream_.fail("is not JSON as a profiler writes it: " + what.substr(0, 200));
}

}  // namespace

TraceHeader read_trace_events(TraceStream& stream, const std::function<void(TraceEvent&)>& take) {
  Handler handler(stream, take);
  std::istream input(&stream);
  // Errors of the file are thrown by the handler.
  Json::sax_parse(input, &handler);
  return handler.header;
}

}  // namespace stepsight
