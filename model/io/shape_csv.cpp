#include "model/io/shape_csv.h"

#include <array>

#include "model/io/csv.h"
#include "model/io/measurement_files.h"

namespace stepsight {

namespace {

constexpr std::int64_t largest = std::int64_t{1} << 40;
constexpr std::int64_t widest = 1 << 20;  // of an image: products of sizes stay far from overflow

struct Columns {
  std::size_t op, m, n, k, dtype, layout, bytes, gpus, rows, cols, batch, heads, kv_heads, seq,
      head_dim, causal, backward, channels, size, out, kernel, stride, groups;
};

Columns columns_of(CsvTable& t) {
  const auto c = [&](std::string_view name) { return t.optional_column(name); };
  return {t.column("op"), c("m"),    c("n"),        c("k"),      c("dtype"),    c("layout"),
          c("bytes"),     c("gpus"), c("rows"),     c("cols"),   c("batch"),    c("heads"),
          c("kv_heads"),  c("seq"),  c("head_dim"), c("causal"), c("backward"), c("channels"),
          c("size"),      c("out"),  c("kernel"),   c("stride"), c("groups")};
}

class RowReader {
 public:
  RowReader(CsvTable& table, const Columns& columns) : t_(table), c_(columns) {}

  // Notes a mistake and gives a harmless shape for a row that cannot be read.
  CostShape read() {
    const std::string_view op = t_.text(c_.op);
    if (op == "gemm") return gemm();
    if (op == "attention" || op == "attention_backward")
      return attention(op == "attention_backward");
    if (op == "h2d" || op == "d2h") return CopyShape{op == "h2d", bytes()};
    if (const auto kind = parse_collective(op))
      return CollectiveShape{*kind, need(c_.gpus, "gpus"), bytes()};
    if (const auto kind = parse_pass(op)) return pass(*kind);
    for (std::size_t i = 0; i < convolution_names.size(); ++i) {
      if (op == convolution_names[i]) return convolution(static_cast<ConvolutionDirection>(i));
    }
    t_.mistake(
        c_.op,
        "'" + std::string(op.substr(0, 40)) +
            "' is no operator: gemm, attention, conv, a pass (show), a collective, h2d or d2h");
    return Pass{};
  }

 private:
  std::int64_t need(std::size_t column, const char* name) {
    if (column != CsvTable::absent) return t_.integer(column, 1, largest);
    t_.mistake(c_.op, std::string("needs a column '") + name + "'");
    return 1;
  }
  double bytes() {
    if (c_.bytes != CsvTable::absent) return t_.number(c_.bytes, 1, 1e15);
    t_.mistake(c_.op, "needs a column 'bytes'");
    return 1;
  }
  // yes or no, true or false, 1 or 0.
  bool yes(std::size_t column, bool fallback) {
    if (column == CsvTable::absent || t_.text(column).empty()) return fallback;
    const std::string_view word = t_.text(column);
    for (const std::string_view w : {"yes", "true", "1"}) {
      if (word == w) return true;
    }
    for (const std::string_view w : {"no", "false", "0"}) {
      if (word == w) return false;
    }
    t_.mistake(column, "must be yes or no");
    return fallback;
  }
  Dtype dtype() {
    if (c_.dtype == CsvTable::absent || t_.text(c_.dtype).empty()) return Dtype::bf16;
    if (const auto type = parse_foreign_dtype(t_.text(c_.dtype))) return *type;
    t_.mistake(c_.dtype, "must be fp32, tf32, fp16, bf16 or fp8");
    return Dtype::bf16;
  }
  Gemm gemm() {
    Gemm g{need(c_.m, "m"), need(c_.n, "n"), need(c_.k, "k"), 1, dtype(), Layout::TN};
    if (c_.batch != CsvTable::absent) {
      g.batch = t_.optional_integer(c_.batch, 1, largest).value_or(1);
    }
    if (c_.layout == CsvTable::absent || t_.text(c_.layout).empty()) return g;
    constexpr std::array<std::string_view, 3> layouts{"TN", "NN", "NT"};
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      if (t_.text(c_.layout) != layouts[i]) continue;
      g.layout = static_cast<Layout>(i);
      return g;
    }
    t_.mistake(c_.layout, "must be TN, NN or NT");
    return g;
  }
  Attention attention(bool backward) {
    Attention a;
    a.batch = need(c_.batch, "batch");
    a.heads = need(c_.heads, "heads");
    a.kv_heads = c_.kv_heads == CsvTable::absent
                     ? a.heads
                     : t_.optional_integer(c_.kv_heads, 1, largest).value_or(a.heads);
    a.seq = need(c_.seq, "seq");
    a.head_dim = need(c_.head_dim, "head_dim");
    a.causal = yes(c_.causal, true);
    a.backward = backward;
    a.dtype = dtype();
    if (a.kv_heads > a.heads) t_.mistake(c_.kv_heads, "must not exceed heads");
    return a;
  }
  std::int64_t or_one(std::size_t column) {
    if (column == CsvTable::absent) return 1;
    return t_.optional_integer(column, 1, widest).value_or(1);
  }
  std::int64_t need_small(std::size_t column, const char* name) {
    if (column != CsvTable::absent) return t_.integer(column, 1, widest);
    return need(column, name);
  }
  Convolution convolution(ConvolutionDirection direction) {
    Convolution c;
    c.batch = or_one(c_.batch);
    c.channels = need_small(c_.channels, "channels");
    c.height = c.width = need_small(c_.size, "size");
    c.out = need_small(c_.out, "out");
    c.kernel_height = c.kernel_width = or_one(c_.kernel);
    c.padding = c.kernel_height / 2;
    c.stride = or_one(c_.stride);
    c.groups = or_one(c_.groups);
    c.direction = direction;
    c.dtype = dtype();
    if (c.kernel_height > c.height) t_.mistake(c_.kernel, "must not exceed size");
    if (c.channels % c.groups != 0 || c.out % c.groups != 0) {
      t_.mistake(c_.groups, "must divide channels and out");
      c.groups = 1;
    }
    return c;
  }
  // A pass by its shape, or by the bytes of one tensor.
  Pass pass(PassKind kind) {
    const Dtype type = dtype();
    if (c_.rows != CsvTable::absent && c_.cols != CsvTable::absent && !t_.text(c_.rows).empty()) {
      return {kind, t_.integer(c_.rows, 1, largest), t_.integer(c_.cols, 1, largest), type};
    }
    const double elements = bytes() / info(type).bytes;
    return {kind, 1, std::max<std::int64_t>(1, static_cast<std::int64_t>(elements)), type};
  }

  CsvTable& t_;
  const Columns& c_;
};

}  // namespace

ShapeTable read_shapes(const std::string& file, std::string_view text) {
  ShapeTable out;
  CsvReader raw(file, text);
  if (raw.next()) out.header.assign(raw.fields().begin(), raw.fields().end());
  CsvTable table(file, text);
  const Columns columns = columns_of(table);
  table.check_columns();
  while (table.next() && raw.next()) {
    out.shapes.push_back(RowReader(table, columns).read());
    out.rows.emplace_back(raw.fields().begin(), raw.fields().end());
  }
  table.finish();
  return out;
}

}  // namespace stepsight
