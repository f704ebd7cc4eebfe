#include "reports/show_report.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/transformer.h"
#include "reports/fit_report.h"
#include "reports/json_parts.h"
#include "reports/text_table.h"

namespace stepsight {

namespace {

using Json = nlohmann::ordered_json;

std::string_view family_of(const ModelShape& m) {
  return family_names[static_cast<std::size_t>(m.family)];
}

double rate(const GpuProfile& gpu, Dtype type) {
  return gpu.vendor_TFLOPS[static_cast<std::size_t>(type)];
}

std::string rate_cell(const GpuProfile& gpu, Dtype type) {
  return rate(gpu, type) > 0 ? format_significant(rate(gpu, type)) : "-";
}

bool is_measured(const GpuProfile& gpu) {
  return std::ranges::any_of(gpu.records, [](const ParameterRecord& r) { return r.points > 0; });
}

std::string_view kind_of_profile(const GpuProfile& gpu) {
  return is_measured(gpu) ? "measured" : "class values";
}

// A large message's busbw by the curve, in GB/s.
double large_busbw(const CollectiveCurve& c) {
  constexpr double large = 512e6;
  return large * traffic_factor(c.kind, c.ranks) / cost(c, Bytes{large}).time.value / 1e9;
}

std::string operators_text(const std::vector<Operator>& operators) {
  TextTable table;
  table.columns = {{"operator", Align::left}, {"work", Align::left}};
  for (const Operator& op : operators) {
    std::string work;
    if (const auto* g = std::get_if<Gemm>(&op.work)) {
      work = fmt::format("gemm {} x {} x {}{}",
                         g->m,
                         g->n,
                         g->k,
                         g->batch > 1 ? fmt::format(", {} of them", g->batch) : "");
    } else if (const auto* a = std::get_if<Attention>(&op.work)) {
      work = fmt::format("attention, {} heads of {}, sequence {}", a->heads, a->head_dim, a->seq);
    } else if (const auto* c = std::get_if<Convolution>(&op.work)) {
      work = fmt::format("{} {} x {} of {} x {}, {} to {} channels{}",
                         convolution_names[static_cast<std::size_t>(c->direction)],
                         c->kernel_height,
                         c->kernel_width,
                         c->height,
                         c->width,
                         c->channels,
                         c->out,
                         c->stride > 1 ? fmt::format(", stride {}", c->stride) : "");
    } else {
      const Pass& p = std::get<Pass>(op.work);
      work = fmt::format("{} of {} x {}", info(p.kind).name, p.rows, p.cols);
    }
    table.rows.push_back({std::string(op.label), work});
  }
  return table.text();
}

// A text behind its mark, further lines below its beginning.
std::string hanging(const std::string& mark, const std::string& text) {
  std::string out = mark;
  for (const char c : wrap(text, terminal_width - mark.size())) {
    out += c;
    if (c == '\n') out.append(mark.size(), ' ');
  }
  return out + "\n";
}

// Every parameter under its group, with its source as a number into the list below.
std::string parameters_text(std::span<const ParameterRecord> records) {
  std::vector<std::string> sources;
  const auto number = [&](const std::string& source) {
    const auto known = std::ranges::find(sources, source);
    const std::ptrdiff_t at = known - sources.begin();
    if (known == sources.end()) sources.push_back(source);
    return std::to_string(at + 1);
  };
  TextTable table;
  table.columns = {{"parameter", Align::left}, {"value"}, {"sd"}, {"points"}, {"from"}};
  std::vector<std::string> groups;
  for (const ParameterRecord& r : records) {
    const std::size_t dot = r.name.rfind('.');
    groups.push_back(dot == std::string::npos ? "" : r.name.substr(0, dot));
    table.rows.push_back({"  " + r.name.substr(dot == std::string::npos ? 0 : dot + 1),
                          format_significant(r.value),
                          format_significant(r.sd),
                          r.points > 0 ? format_count(r.points) : "-",
                          number(r.source)});
  }
  std::istringstream lines(table.text());
  std::string out;
  std::string line;
  for (int i = 0; i < 2 && std::getline(lines, line); ++i) out += line + "\n";
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    if (i == 0 || groups[i] != groups[i - 1]) out += groups[i] + "\n";
    out += line + "\n";
  }
  out += "\nsd: standard deviation. points: measurements behind it; - for none. from:\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    out += hanging(fmt::format("{:3}  ", i + 1), sources[i]);
  }
  return out;
}

}  // namespace

std::string models_text(std::span<const ModelShape> models) {
  TextTable table;
  table.columns = {{"model", Align::left},
                   {"family", Align::left},
                   {"parameters"},
                   {"layers"},
                   {"hidden"},
                   {"heads"},
                   {"kv"},
                   {"vocabulary"}};
  for (const ModelShape& m : models) {
    table.rows.push_back({m.name,
                          std::string(family_of(m)),
                          format_count(static_cast<double>(parameter_count(m))),
                          std::to_string(m.layers),
                          std::to_string(m.hidden),
                          std::to_string(m.heads),
                          std::to_string(m.kv_heads),
                          format_count(static_cast<double>(m.vocab))});
  }
  return table.text();
}

std::string model_text(const ModelShape& model) {
  Training training;
  training.seq = model.max_seq > 0     ? std::min<std::int64_t>(model.max_seq, 2048)
                 : model.positions > 0 ? model.positions
                                       : 2048;
  const StepWork work = step_work(model, training);
  return models_text({&model, 1}) +
         fmt::format(
             "\nOne block, forward, one {} in bf16:\n",
             takes_images(model.family) ? "image" : fmt::format("sequence of {}", training.seq)) +
         operators_text(work.block.forward) + "\nand backward:\n" +
         operators_text(work.block.backward);
}

std::string gpus_text(std::span<const GpuProfile> gpus) {
  TextTable table;
  table.columns = {{"name", Align::left},
                   {"GB"},
                   {"TB/s"},
                   {"fp32"},
                   {"tf32"},
                   {"fp16"},
                   {"bf16"},
                   {"fp8"},
                   {"W"},
                   {"profile", Align::left}};
  for (const GpuProfile& g : gpus) {
    table.rows.push_back({g.name,
                          format_significant(g.memory_bytes / 1e9),
                          format_significant(g.hbm_TBps),
                          rate_cell(g, Dtype::fp32),
                          rate_cell(g, Dtype::tf32),
                          rate_cell(g, Dtype::fp16),
                          rate_cell(g, Dtype::bf16),
                          rate_cell(g, Dtype::fp8),
                          format_significant(g.power_W),
                          is_measured(g) ? "measured" : "class"});
  }
  return table.text() +
         "\nVendor's figures; dense TFLOP/s. profile: measured on such a card, or class:\n"
         "the vendor's figures are scaled by what was measured of its kind.\n";
}

std::string profiles_text(std::span<const GpuProfile> profiles) {
  TextTable table;
  table.columns = {{"profile", Align::left},
                   {"kind", Align::left},
                   {"parameters"},
                   {"of measured"},
                   {"bf16 held out"},
                   {"links", Align::left}};
  for (const GpuProfile& p : profiles) {
    std::size_t measured = 0;
    for (const ParameterRecord& r : p.records) measured += r.points > 0 ? 1 : 0;
    std::string error = "-";
    for (const FitQuality& q : p.quality) {
      if (q.group == "gemm.bf16") error = format_percent(q.held_out_median_error);
    }
    std::set<std::string> links;
    for (const CollectiveCurve& c : p.collectives) links.insert(c.link);
    std::string names;
    for (const std::string& l : links) names += (names.empty() ? "" : ", ") + l;
    table.rows.push_back({p.name,
                          std::string(kind_of_profile(p)),
                          std::to_string(p.records.size()),
                          std::to_string(measured),
                          error,
                          names});
  }
  return table.text();
}

std::string profile_report_text(const GpuProfile& profile) {
  std::string out =
      fmt::format("{} ({}): {}\n\n", profile.title, profile.name, kind_of_profile(profile));
  out += parameters_text(profile.records);
  const TextTable fit = quality_table(profile.quality);
  if (fit.rows.empty()) return out;
  return out + "\n" + fit.text() +
         "\nfitted: points, and the formula's median error on them. held out: points the\n"
         "fit left out, with the median and the 90th percentile of the error there.\n";
}

std::string links_text(std::span<const LinkRow> rows) {
  TextTable table;
  table.columns = {{"link", Align::left},
                   {"card", Align::left},
                   {"collective", Align::left},
                   {"GPUs"},
                   {"latency"},
                   {"GB/s"}};
  for (const LinkRow& row : rows) {
    table.rows.push_back({row.curve.link,
                          row.card.empty() ? "any" : row.card,
                          std::string(info(row.curve.kind).name),
                          std::to_string(row.curve.ranks),
                          format_seconds(row.curve.parameters.latency_us * 1e-6),
                          format_significant(large_busbw(row.curve))});
  }
  return table.text() +
         "\n"
         "Measured; GB/s: busbw as nccl-tests defines it, of a message of 512 MB.\n"
         "Other links go by class: words such as pcie4-x16-nop2p, nvlink3-pairs or\n"
         "nvlink4-nvswitch+8x400G-ib, with @G for a bus bandwidth of G GB/s;\n"
         "`stepsight show links CLASS` says what is assumed of one.\n"
         "loopback:K  each bucket is copied K times to pinned host memory and back, so\n"
         "            that overlap can be measured, and predicted, on one GPU.\n";
}

std::string link_text(std::span<const LinkRow> rows) {
  constexpr std::array<double, 4> sizes{64e3, 1e6, 25 * 1048576.0, 1e9};
  TextTable table;
  table.columns = {{"collective", Align::left},
                   {"GPUs"},
                   {"message"},
                   {"time"},
                   {"GB/s"},
                   {"from", Align::left}};
  for (const LinkRow& row : rows) {
    for (const double size : sizes) {
      const double seconds = cost(row.curve, Bytes{size}).time.value;
      const double wire = size * traffic_factor(row.curve.kind, row.curve.ranks);
      table.rows.push_back({std::string(info(row.curve.kind).name),
                            std::to_string(row.curve.ranks),
                            format_bytes(size),
                            format_seconds(seconds),
                            format_significant(wire / seconds / 1e9),
                            row.card.empty() ? std::string(describe(row.origin)) : row.card});
    }
  }
  return table.text() +
         "\nGB/s: busbw as nccl-tests defines it. 26.2 MB are a gradient bucket of 25 MiB.\n";
}

std::string models_json(std::span<const ModelShape> models) {
  Json out = Json::array();
  for (const ModelShape& m : models) {
    out.push_back({{"name", m.name},
                   {"family", family_of(m)},
                   {"parameters", parameter_count(m)},
                   {"layers", m.layers},
                   {"hidden", m.hidden},
                   {"heads", m.heads},
                   {"kv_heads", m.kv_heads},
                   {"head_dim", m.head_dim},
                   {"ffn", m.ffn},
                   {"vocab", m.vocab},
                   {"tied_head", m.tied_head}});
  }
  return json_text(out) + "\n";
}

std::string profiles_json(std::span<const GpuProfile> profiles) {
  Json out = Json::array();
  for (const GpuProfile& p : profiles) {
    Json parameters = Json::object();
    for (const ParameterRecord& r : p.records) {
      parameters[r.name] = {
          {"value", r.value}, {"sd", r.sd}, {"points", r.points}, {"source", r.source}};
    }
    Json rates = Json::object();
    for (const DtypeInfo& t : dtypes) {
      if (rate(p, t.dtype) > 0) rates[std::string(t.name)] = rate(p, t.dtype);
    }
    out.push_back({{"name", p.name},
                   {"title", p.title},
                   {"kind", kind_of_profile(p)},
                   {"multiprocessors", p.multiprocessors},
                   {"memory_bytes", p.memory_bytes},
                   {"hbm_TBps", p.hbm_TBps},
                   {"dense_TFLOPS", rates},
                   {"power_W", p.power_W},
                   {"sources", p.sources},
                   {"parameters", parameters}});
  }
  return json_text(out) + "\n";
}

std::string links_json(std::span<const LinkRow> rows) {
  Json out = Json::array();
  for (const LinkRow& row : rows) {
    const CollectiveCurve& c = row.curve;
    out.push_back({{"link", c.link},
                   {"gpu", row.card.empty() ? Json(nullptr) : Json(row.card)},
                   {"collective", info(c.kind).name},
                   {"gpus", c.ranks},
                   {"latency_us", c.parameters.latency_us},
                   {"busbw_GBps", large_busbw(c)},
                   {"origin", describe(row.origin)},
                   {"source", c.source}});
  }
  return json_text(out) + "\n";
}

}  // namespace stepsight
