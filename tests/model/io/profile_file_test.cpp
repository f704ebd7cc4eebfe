#include "model/io/profile_file.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "model/io/builtin.h"
#include "model/io/csv.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

namespace fs = std::filesystem;
constexpr std::int64_t any_size = std::int64_t{1} << 60;

// A folder that is gone when the test is over.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(fs::temp_directory_path() / ("stepsight-profile-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

std::string builtin_text() {
  return std::string(*builtin_file("profiles/h200-sxm.toml"));
}

std::string without_line(std::string text, const std::string& begins) {
  const std::size_t at = text.find("\n" + begins);
  REQUIRE(at != std::string::npos);
  return text.erase(at, text.find('\n', at + 1) - at);
}

// The value of one parameter replaced by another text.
std::string with_value(std::string text, const std::string& name, const std::string& value) {
  const std::string key = "\"" + name + "\" = { value = ";
  const std::size_t at = text.find(key);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + key.size();
  return text.replace(begin, text.find(',', begin) - begin, value);
}

std::string message_for(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.write("card.toml", text);
  return message_of([&] { read_profile(path); });
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

TEST_CASE("a profile reads back to the same parameters to the bit") {
  GpuProfile written = read_profile("h200-sxm");
  // Numbers that short decimals do not hold.
  written.gemm[0].ramp_k = 100.0 / 3;
  for (ParameterRecord& r : written.records) {
    if (r.name == "gemm.fp32.ramp_k") r.value = 100.0 / 3;
  }
  const TemporaryFolder folder;
  GpuProfile read = read_profile(folder.write("card.toml", profile_text(written)));

  const auto before = named_parameters(written);
  const auto after = named_parameters(read);
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    INFO(before[i].name);
    CHECK(same_bits(*before[i].value, *after[i].value));
  }
  REQUIRE(read.collectives.size() == written.collectives.size());
  for (std::size_t i = 0; i < read.collectives.size(); ++i) {
    const CollectiveCurve& a = written.collectives[i];
    const CollectiveCurve& b = read.collectives[i];
    CHECK((a.link == b.link && a.kind == b.kind && a.ranks == b.ranks));
    CHECK(same_bits(a.parameters.latency_us, b.parameters.latency_us));
    CHECK(same_bits(a.parameters.ramp_us, b.parameters.ramp_us));
    CHECK(same_bits(a.parameters.busbw_GBps, b.parameters.busbw_GBps));
  }
  REQUIRE(read.records.size() == written.records.size());
  for (std::size_t i = 0; i < read.records.size(); ++i) {
    CHECK(read.records[i].name == written.records[i].name);
    CHECK(same_bits(read.records[i].sd, written.records[i].sd));
    CHECK(read.records[i].points == written.records[i].points);
    CHECK(read.records[i].source == written.records[i].source);
  }
  CHECK(read.quality.size() == written.quality.size());
  CHECK(read.sources == written.sources);
  CHECK(same_bits(read.memory_bytes, written.memory_bytes));
  CHECK(read.vendor_TFLOPS == written.vendor_TFLOPS);
}

TEST_CASE("names with quotes, backslashes and control characters read back as they were") {
  GpuProfile written = read_profile("h200-sxm");
  written.title = "a \"card\"\\ of\ttwo\nlines\x7f";
  written.sources = {"a\rb.json", "C:\\files\\c.csv"};
  const TemporaryFolder folder;
  const GpuProfile read = read_profile(folder.write("card.toml", profile_text(written)));
  CHECK(read.title == written.title);
  CHECK(read.sources == written.sources);
}

TEST_CASE("points that were written read back over the formulas") {
  GpuProfile gpu = read_profile("h200-sxm");
  const std::string link = gpu.collectives.front().link;
  const std::vector<PointRow> points{
      {"gemm", "fp16", {512, 768, 1024, 1, 1, 0}, 31, 0.1},
      {"attention", "bf16", {2, 8, 8, 512, 64, 1}, 41, -0.2},
      {"attention_backward", "bf16", {2, 8, 4, 512, 64, 0}, 51, 0.3},
      {"layer_norm", "", {4096, 768, 0, 0, 0, static_cast<std::int64_t>(Dtype::bf16)}, 61, -0.4},
      {"all_reduce", link, {gpu.collectives.front().ranks, 1048576, 0, 0, 0, 0}, 71, 0.5},
  };
  const TemporaryFolder folder;
  folder.write("card.points.csv", points_text(points));
  gpu = read_profile(folder.write("card.toml", profile_text(gpu)));

  const auto residual = [](const MeasuredSurface& s, const MeasuredSurface::Point& at) {
    REQUIRE(s.size() == 1);
    CHECK(s.at(at).distance == 0);
    return s.at(at).log_residual;
  };
  CHECK(residual(gpu.gemm_points[static_cast<std::size_t>(Dtype::fp16)],
                 surface_point(Gemm{512, 768, 1024, 1, Dtype::fp16, Layout::NN})) == Approx(0.1));
  CHECK(residual(gpu.attention_points[0], surface_point(Attention{2, 8, 8, 512, 64})) ==
        Approx(-0.2));
  CHECK(residual(gpu.attention_points[1],
                 surface_point(Attention{2, 8, 4, 512, 64, false, true})) == Approx(0.3));
  CHECK(residual(gpu.pass_points[static_cast<std::size_t>(PassKind::layer_norm)],
                 surface_point(Pass{PassKind::layer_norm, 4096, 768})) == Approx(-0.4));
  REQUIRE(gpu.collectives.front().points.size() == 1);
  CHECK(gpu.collectives.front().points.time(1048576, [](double) { return 1.0; }) ==
        Approx(std::exp(0.5)));
}

TEST_CASE("every wrong profile is refused by name") {
  const std::string good = builtin_text();
  CHECK(message_for(good) == "");
  const std::string peak = "gemm.bf16.peak_TFLOPS";

  CHECK_THAT(message_for(without_line(good, '"' + peak)),
             match::ContainsSubstring("the parameter '" + peak + "' is missing"));
  for (const char* value : {"nan", "inf", "-1", "1e9", "\"fast\"", "true"}) {
    CHECK_THAT(message_for(with_value(good, peak, value)), match::ContainsSubstring(peak));
  }
  CHECK_THAT(message_for(with_value(good, "gemm.bf16.wave_weight", "1.5")),
             match::ContainsSubstring("from 0 to 1"));

  std::string misspelt = good;
  misspelt.replace(misspelt.find(peak), peak.size(), "gemm.bf16.peek_TFLOPS");
  CHECK_THAT(message_for(misspelt),
             match::ContainsSubstring("did you mean '" + peak + "'") &&
                 match::ContainsSubstring("is missing"));
  CHECK_THAT(message_for(good + "\nsurprise = 1\n"), match::ContainsSubstring("surprise"));
  CHECK_THAT(message_for(""), match::ContainsSubstring("schema"));
}

TEST_CASE("a collective without one of its parameters is refused, not completed by a class value") {
  const GpuProfile gpu = read_profile("h200-sxm");
  const CollectiveCurve& curve = gpu.collectives.front();
  const std::string stem = "collective." + curve.link + "." + std::string(info(curve.kind).name) +
                           "." + std::to_string(curve.ranks) + ".";
  for (const auto& field : CollectiveParameters<double>::fields()) {
    const std::string name = stem + std::string(field.info.name);
    CHECK_THAT(message_for(without_line(builtin_text(), '"' + name)),
               match::ContainsSubstring("the parameter '" + name + "' is missing"));
  }
}

TEST_CASE("a link may have dots in its name") {
  GpuProfile gpu = read_profile("h200-sxm");
  const std::string old = "collective." + gpu.collectives.front().link + ".";
  std::string text = builtin_text();
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at)) {
    text.replace(at, old.size(), "collective.nvlink.v4.0.");
  }
  const TemporaryFolder folder;
  CHECK(read_profile(folder.write("card.toml", text)).collectives.front().link == "nvlink.v4.0");
}

TEST_CASE("a wrong table of points is refused with its lines") {
  const TemporaryFolder folder;
  const std::string header = "op,type,a,b,c,d,e,f,time_us,log_residual\n";
  const std::string profile = folder.write("card.toml", builtin_text());
  const auto message = [&](const std::string& row) {
    folder.write("card.points.csv", header + row + "\n");
    return message_of([&] { read_profile(profile); });
  };
  CHECK(message("gemm,bf16,64,64,64,1,0,0,5,0.1") == "");
  CHECK_THAT(message("gemm,int4,64,64,64,1,0,0,5,0.1"), match::ContainsSubstring(":2:"));
  CHECK_THAT(message("gemm,bf16,64,64,64,1,3,0,5,0.1"), match::ContainsSubstring(":2:"));
  CHECK_THAT(message("gemm,bf16,64,64,64,1,0,0,5,nan"), match::ContainsSubstring("log_residual"));
  CHECK_THAT(message("convolution,,64,64,0,0,0,3,5,0"), match::ContainsSubstring("op"));
  CHECK_THAT(message("copy,,64,64,0,0,0,77,5,0"), match::ContainsSubstring(":2:"));
  CHECK_THAT(message("all_reduce,no-such-link,2,64,0,0,0,0,5,0"), match::ContainsSubstring(":2:"));
  // Sizes whose product leaves 64 bits are far away, not undefined.
  CHECK(message("copy,,1152921504606846976,1152921504606846976,0,0,0,3,5,0") == "");
}

TEST_CASE("the points of every built-in profile lie over the formula that reads them") {
  // A profile that was fitted with another formula than today's would predict its own measured
  // points wrongly: log_residual must be log(time / formula).
  for (const std::string_view name : builtin_names("profiles")) {
    const auto text = builtin_file("profiles/" + std::string(name) + ".points.csv");
    if (!text) continue;
    const GpuProfile gpu = read_profile(std::string(name));
    CsvTable table(std::string(name), *text);
    std::array<std::size_t, 5> size{};
    for (std::size_t i = 0; i < size.size(); ++i) {
      size[i] = table.column(std::string(1, static_cast<char>('a' + i)));
    }
    const std::size_t op = table.column("op");
    const std::size_t type = table.column("type");
    const std::size_t time = table.column("time_us");
    const std::size_t residual = table.column("log_residual");
    double worst = 0;
    std::size_t products = 0;
    while (table.next()) {
      if (table.text(op) != "gemm") continue;
      std::array<std::int64_t, 5> s{};
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = table.integer(size[i], 0, any_size);
      const Dtype dtype = parse_dtype(table.text(type)).value();
      const Gemm gemm{s[0], s[1], s[2], s[3], dtype, static_cast<Layout>(s[4])};
      const double formula =
          gemm_formula(gemm, gpu.gemm[static_cast<std::size_t>(dtype)], multiprocessors_of(gpu))
              .value *
          1e6;
      const double stated = table.number(residual, -20, 20);
      worst = std::max(worst, std::abs(std::log(table.number(time, 0, 1e15) / formula) - stated));
      ++products;
    }
    CHECK(products > 0);
    CHECK(worst < 3e-5);  // the file's rounding
  }
}
