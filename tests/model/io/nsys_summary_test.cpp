#include "model/io/logs/nsys_summary.h"

#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("a header in the middle of a summary of kernels starts it anew, whatever its columns") {
  const std::string_view row = "75.0,3000000,10,300000.0,299000.0,290000,310000,5000.0,gemm";
  NsysSummaryLog log;
  log.line("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name");
  log.line(row);
  // Without a name, and with the columns where the name was: found by libFuzzer.
  log.line("a,b,c,d,e,f,Instances,g,Total Time (ns)");
  log.line(row);
  log.line("a,b,c,d,e,f,g,h,Total Time (ns),Instances,Name");
  log.line(row);
  CHECK(log.finish().parts.size() == 1);
}
