#include "reports/fit_report.h"

#include <fmt/format.h>

#include "reports/text_table.h"

namespace stepsight {

double copy_TBps(const GpuProfile& profile) {
  const Pass large{PassKind::copy, 1, std::int64_t{1} << 29, Dtype::bf16};
  return bytes(large).value / cost(large, profile).time.value / 1e12;
}

TextTable quality_table(std::span<const FitQuality> quality) {
  TextTable table;
  table.columns = {
      {"group", Align::left}, {"fitted"}, {"formula"}, {"held out"}, {"median"}, {"p90"}};
  for (const FitQuality& q : quality) {
    const bool any = q.held_out_points > 0;
    table.rows.push_back({q.group,
                          format_count(q.fitted_points),
                          format_percent(q.fitted_median_error),
                          format_count(q.held_out_points),
                          any ? format_percent(q.held_out_median_error) : "-",
                          any ? format_percent(q.held_out_p90_error) : "-"});
  }
  return table;
}

std::string fit_report_text(const GpuProfile& profile, const Measurements& measurements) {
  std::string out = fmt::format("{} ({})\n", profile.title, profile.name);
  const auto& bf16 = profile.gemm[static_cast<std::size_t>(Dtype::bf16)];
  const double vendor = profile.vendor_TFLOPS[static_cast<std::size_t>(Dtype::bf16)];
  const auto of_vendor = [](double value, double figure, const char* unit) {
    return figure > 0 ? fmt::format(" of the vendor's {:.3g} {} ({})",
                                    figure,
                                    unit,
                                    format_percent(value / figure, 0))
                      : std::string();
  };
  out += fmt::format("  bf16 products  {:.0f} TFLOP/s{}\n",
                     bf16.peak_TFLOPS,
                     of_vendor(bf16.peak_TFLOPS, vendor, "TFLOP/s"));
  const double copy = copy_TBps(profile);
  out += fmt::format("  memory copy    {:.2f} TB/s{}, read plus written\n\n",
                     copy,
                     of_vendor(copy, profile.hbm_TBps, "TB/s"));

  out += quality_table(profile.quality).text();
  out +=
      "\nformula: median error of the formula alone on the points it was fitted to.\n"
      "median, p90: error of formula and measured points on shapes that were held out (products: "
      "of over 10 us).\n";
  std::string unmeasured;
  std::string last;
  for (const ParameterRecord& r : profile.records) {
    const std::string group = r.name.substr(0, r.name.rfind('.'));
    if (r.points > 0 || !r.source.starts_with("class value") || group == last) continue;
    unmeasured += (unmeasured.empty() ? "" : ", ") + (group == "overlap" ? r.name : group);
    last = group == "overlap" ? last : group;
  }
  if (!unmeasured.empty()) out += "\nNot measured, class values: " + unmeasured + "\n";
  for (const std::string& line : measurements.skipped) out += line + "\n";
  return out;
}

std::string fit_link_report_text(const MeasuredLink& link, const Measurements& measurements) {
  std::string out =
      fmt::format("{} ({}), class {}\n\n", link.title, link.name, link.link_class_name);
  TextTable table;
  table.columns = {{"collective", Align::left},
                   {"latency"},
                   {"GB/s"},
                   {"points"},
                   {"formula"},
                   {"held out"},
                   {"median"},
                   {"p90"}};
  for (std::size_t i = 0; i < link.curves.size(); ++i) {
    const CollectiveCurve& c = link.curves[i];
    const FitQuality& q = link.quality[i];
    const bool any = q.held_out_points > 0;
    table.rows.push_back({fmt::format("{} over {}", info(c.kind).name, c.ranks),
                          format_seconds(c.parameters.latency_us * 1e-6),
                          format_significant(c.parameters.busbw_GBps),
                          format_count(q.fitted_points),
                          format_percent(q.fitted_median_error),
                          format_count(q.held_out_points),
                          any ? format_percent(q.held_out_median_error) : "-",
                          any ? format_percent(q.held_out_p90_error) : "-"});
  }
  out += table.text();
  for (const std::string& line : measurements.skipped) out += line + "\n";
  return out;
}

}  // namespace stepsight
