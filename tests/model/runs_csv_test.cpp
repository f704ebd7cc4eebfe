#include "model/io/runs_csv.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>
#include <zlib.h>

#include "model/io/csv.h"
#include "model/io/read_file.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

const std::string header =
    "id,source,source_table,gpu,gpus,nodes,interconnect_intra,interconnect_inter,model,family,"
    "params,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,micro_batch,global_batch,"
    "grad_accum,precision,dp,tp,pp,vpp,cp,ep,sharding,recompute,attention,compile,metric,value,"
    "unit,mfu_or_tflops,step_time_s,step_time_how,arch_from,complete,measured_how,flag,notes,"
    "std_family,std_gpu,std_compute,std_grad_bytes,std_dp,std_overlap,std_offload,std_recompute,"
    "std_flash,std_compile,std_intra,std_inter_gbps_per_node\n";

// One of our own rows (GPT-2 124M on one H200), shortened in its prose.
const std::string row =
    "H2001,own,eager,H200-SXM,1,1,,,gpt2-124m,\"decoder (GPT: LayerNorm, tied head)\",124475904,"
    "12,768,12,12,3072,50304,1024,1,1,1,\"pure bf16 (parameters, gradients)\",1,1,1,,1,1,none,"
    "none,\"flash (SDPA, causal)\",no,median step,18.035,ms,,0.018035,read,,yes,CUDA events,,"
    "\"min 17.13; \"\"quoted\"\"\",gpt,h200-sxm,bf16,2,ddp,,,none,yes,no,loopback:2,\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::vector<MeasuredRun> read(const std::string& text) {
  return read_runs_text("r.csv", text);
}

std::string message(const std::string& text) {
  return message_of([&] { read(text); });
}

// All fields of a text, records apart by '|', fields by ';'.
std::string split(const std::string& text) {
  CsvReader reader("x.csv", text);
  std::string result;
  while (reader.next()) {
    for (const std::string_view field : reader.fields()) result += std::string(field) + ";";
    result += "|";
  }
  return result;
}

std::string split_message(const std::string& text) {
  return message_of([&] { split(text); });
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          ("stepsight_" + std::to_string(getpid()) + "_" + name))
      .string();
}

void write_gzip(const std::string& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

}  // namespace

TEST_CASE("a run is read with all its columns") {
  const std::vector<MeasuredRun> runs = read(header + row);
  REQUIRE(runs.size() == 1);
  const MeasuredRun& run = runs[0];
  CHECK(run.line == 2);
  CHECK(run.id == "H2001");
  CHECK(run.source_table == "eager");
  CHECK(run.family == "decoder (GPT: LayerNorm, tied head)");
  CHECK(run.notes == "min 17.13; \"quoted\"");
  CHECK(run.is_complete());
  CHECK(run.params == 124475904);
  CHECK(run.layers == 12);
  CHECK(run.ffn == 3072);
  CHECK(run.seq == 1024);
  CHECK(run.micro_batch == 1);
  CHECK_FALSE(run.vpp);
  CHECK(run.step_time_s == 0.018035);
  CHECK(run.std_family == "gpt");
  CHECK(run.std_grad_bytes == 2);
  CHECK(run.std_intra == "loopback:2");
  CHECK(run.std_overlap.empty());
  CHECK_FALSE(run.std_inter_gbps_per_node);
}

TEST_CASE("peak memory is read from its column, or else from the notes") {
  constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
  CHECK_FALSE(read(header + row).front().peak_memory);
  const auto noted = [&](const std::string& words) {
    return read(header + replaced(row, "min 17.13", words)).front().peak_memory;
  };
  REQUIRE(noted("peak memory 1.64 GiB"));
  CHECK(*noted("peak memory 1.64 GiB") == 1.64 * gibibyte);
  for (const char* words : {"peak memory",
                            "peak memory GB",
                            "peak memory 35GB",
                            "peak memory -1 GiB",
                            "peak memory nan GiB",
                            "peak memory 1e9 GiB"}) {
    INFO(words);
    CHECK_FALSE(noted(words));
  }
  const std::string columns = replaced(header, "\n", ",peak_memory_GiB\n");
  const auto with_column = [&](const std::string& cell) {
    return columns +
           replaced(replaced(row, "min 17.13", "peak memory 9 GiB"), ",\n", ",," + cell + "\n");
  };
  CHECK(read(with_column("2.5")).front().peak_memory == 2.5 * gibibyte);
  CHECK(read(with_column("")).front().peak_memory == 9 * gibibyte);
  CHECK_THAT(message(with_column("much")), match::ContainsSubstring("peak_memory_GiB"));
}

TEST_CASE(
    "exposed communication is read from its column, or else from the notes: the least of the "
    "ranks") {
  const auto noted = [&](const std::string& words) {
    return read(header + replaced(row, "min 17.13", words)).front().exposed_s;
  };
  CHECK_FALSE(read(header + row).front().exposed_s);
  CHECK(*noted("exposed 6.052 ms") == Approx(6.052e-3));
  CHECK(*noted("exposed 0.000 ms") == 0);
  CHECK(*noted("exposed 9 ms; all ranks: exposed 6.5 to 52.605 ms") == Approx(6.5e-3));
  for (const char* words :
       {"exposed", "exposed ms", "exposed 3 s", "exposed -1 ms", "exposed nan ms"}) {
    INFO(words);
    CHECK_FALSE(noted(words));
  }
  const std::string columns = replaced(header, "\n", ",exposed_ms\n");
  const auto with_column = [&](const std::string& cell) {
    return columns +
           replaced(replaced(row, "min 17.13", "exposed 9 ms"), ",\n", ",," + cell + "\n");
  };
  CHECK(*read(with_column("2.5")).front().exposed_s == Approx(2.5e-3));
  CHECK(*read(with_column("")).front().exposed_s == Approx(9e-3));
  CHECK_THAT(message(with_column("-1")), match::ContainsSubstring("exposed_ms"));
}

TEST_CASE("columns may stand in any order, with others beside them") {
  // Moves the first column to the end and adds one that nobody knows.
  const auto rotate = [](const std::string& line, const std::string& extra) {
    const std::size_t comma = line.find(',');
    std::string rest = line.substr(comma + 1);
    rest.pop_back();
    return rest + "," + line.substr(0, comma) + "," + extra + "\n";
  };
  const std::vector<MeasuredRun> runs = read(rotate(header, "weather") + rotate(row, "rain"));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].id == "H2001");
  CHECK(runs[0].std_compile == "no");
}

TEST_CASE("missing columns are all named, with what stands there instead") {
  CHECK(message(replaced(replaced(header, "micro_batch", "microbatch"), ",std_gpu", "") + "x\n") ==
        "r.csv:1:1: missing column 'micro_batch' (there is 'microbatch')\n"
        "r.csv:1:1: missing column 'std_gpu'");
}

TEST_CASE("cells that are no numbers are told with line, column and name") {
  const std::string bad =
      replaced(replaced(replaced(row, "0.018035", "nan"), ",12,768", ",twelve,768"), "H2001", "B");
  const auto place = [&](const char* cell) { return std::to_string(bad.find(cell) + 1); };
  CHECK(message(header + row + bad) ==
        "r.csv:3:" + place("twelve") +
            ": column 'layers' must be an integer from 1 to 10000, got \"twelve\"\n"
            "r.csv:3:" +
            place("nan") +
            ": column 'step_time_s' must be a number from 1e-09 to 1000000, got \"nan\"");
  for (const char* value : {"0", "-1", "inf", "1e999", "", "1,5", "0x10"}) {
    INFO(value);
    const std::string cell = std::string("\"") + value + "\"";
    CHECK_THAT(message(header + replaced(row, "0.018035", cell)),
               match::ContainsSubstring("column 'step_time_s' must be"));
  }
}

TEST_CASE("a row with too few or too many fields is told by its line") {
  CHECK(message(header + "a,b\n" + row) == "r.csv:2:1: 2 fields, but the header has 55");
}

TEST_CASE("an empty file, a doubled column and binary data are user errors") {
  CHECK_THAT(message(""), match::StartsWith("r.csv:1:1: is empty"));
  CHECK_THAT(message("id,id\n"), match::ContainsSubstring("'id' appears twice"));
  CHECK_FALSE(message(std::string("\0\xff\x01\r", 4)).empty());
}

TEST_CASE("fields split as RFC 4180 says") {
  CHECK(split("a,b\nc,d") == "a;b;|c;d;|");
  CHECK(split("a,b\r\nc,\r\n") == "a;b;|c;;|");
  CHECK(split("\n\na\n\n\nb\n") == "a;|b;|");
  CHECK(split("\"a,b\",\"c\nd\"\n") == "a,b;c\nd;|");
  CHECK(split("\"a \"\"b\"\"\",\"\"\"\"") == "a \"b\";\";|");
  CHECK(split("\"\",") == ";;|");
  CHECK(split("\xef\xbb\xbf"
              "a,b") == "a;b;|");
  CHECK(split("").empty());
}

TEST_CASE("lines are counted through quoted line ends") {
  CsvReader reader("x.csv", "a,\"b\nc\"\nd,e\n");
  REQUIRE(reader.next());
  CHECK(reader.line() == 1);
  REQUIRE(reader.next());
  CHECK(reader.line() == 3);
  CHECK(reader.position(1) == Position{3, 3});
}

TEST_CASE("quotes that are not closed or stand in the middle are told with their place") {
  CHECK(split_message("a,\"b\nc") == "x.csv:1:3: this quote is not closed");
  CHECK(split_message("a\nb\"c\n") ==
        "x.csv:2:2: a quote inside a field that does not begin with one");
  CHECK_THAT(split_message("\"a\"b\n"), match::StartsWith("x.csv:1:4: a closing quote"));
  CHECK_THAT(split_message("a\rb\n"), match::StartsWith("x.csv:1:2: a carriage return"));
  CHECK_THAT(split_message(std::string(5000, ',')), match::ContainsSubstring("4096 fields"));
}

TEST_CASE("whole numbers may be written as spreadsheets write them") {
  CsvTable table("x.csv", "a,b\n1024.0, 7 \n");
  const std::size_t a = table.column("a");
  const std::size_t b = table.column("b");
  REQUIRE(table.next());
  CHECK(table.integer(a, 1, 2000) == 1024);
  CHECK(table.integer(b, 1, 2000) == 7);
  CHECK(table.number(b, 0, 10) == 7);
  CHECK_FALSE(table.optional_number(table.optional_column("c"), 0, 1));
  table.finish();
}

TEST_CASE("a gzip file reads as what it holds, also when several are joined") {
  const std::string path = temporary("runs.csv.gz");
  write_gzip(path, header + row);
  CHECK(read_runs(path).size() == 1);
  const std::string once = read_file(path, megabyte, "a file");
  CHECK(once == header + row);
  std::string raw;
  {
    // Twice the compressed bytes, read raw through a name that hides nothing: cat a.gz a.gz.
    std::FILE* file = std::fopen(path.c_str(), "rb");
    REQUIRE(file != nullptr);
    char buffer[4096];
    raw.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
    std::fclose(file);
  }
  write_file_atomically(path, raw + raw);
  CHECK(read_file(path, megabyte, "a file") == once + once);
  write_file_atomically(path, raw.substr(0, raw.size() / 2));
  CHECK_THAT(message_of([&] { read_file(path, megabyte, "a file"); }),
             match::ContainsSubstring("damaged gzip"));
  std::filesystem::remove(path);
}

TEST_CASE("a small archive of a large text is stopped at the bound") {
  const std::string path = temporary("bomb.gz");
  write_gzip(path, std::string(5 * megabyte, 'a'));
  CHECK(std::filesystem::file_size(path) < 10000);
  CHECK_THAT(message_of([&] { read_file(path, megabyte, "a file"); }),
             match::ContainsSubstring("is larger than 1 MB"));
  std::filesystem::remove(path);
}

TEST_CASE("writing replaces a file whole or leaves it as it was") {
  const std::string path = temporary("written.txt");
  write_file_atomically(path, "one");
  write_file_atomically(path, "two\n");
  CHECK(read_file(path, 100, "a file") == "two\n");
  std::filesystem::remove(path);
  CHECK_THAT(message_of([] { write_file_atomically("/no/such/folder/x", "t"); }),
             match::StartsWith("/no/such/folder/x: cannot be written"));
}
