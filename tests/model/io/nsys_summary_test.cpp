#include "model/io/logs/nsys_summary.h"

#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("a header in the middle of a summary of kernels starts it anew, whatever its columns") {
  const std::string_view row = "75.0,3000000,10,300000.0,299000.0,290000,310000,5000.0,gemm";
  NsysSummaryLog log;
  log.line(
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name");
  log.line(row);
  // Without a name, and with the columns where the name was: found by libFuzzer.
  log.line("a,b,c,d,e,f,Instances,g,Total Time (ns)");
  log.line(row);
  log.line("a,b,c,d,e,f,g,h,Total Time (ns),Instances,Name");
  log.line(row);
  CHECK(log.finish().parts.size() == 1);
}

TEST_CASE("a summary of NVTX ranges gives the mean time of each") {
  NsysSummaryLog log;
  log.line(
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev "
      "(ns),Style,Range");
  log.line(
      "60.0,3000000000,10,300000000.0,299000000.0,290000000,310000000,5000.0,PushPop,:forward");
  log.line(
      "40.0,2000000000,10,200000000.0,199000000.0,190000000,210000000,5000.0,PushPop,:backward, "
      "first");
  const StepLog read = log.finish();
  CHECK(read.format == "Nsight Systems' NVTX ranges");
  REQUIRE(read.parts.size() == 2);
  CHECK(read.parts[0].name == ":forward");
  CHECK(read.parts[0].seconds == Approx(0.3));
  CHECK(read.parts[1].name == ":backward, first");
  CHECK(read.doubts.empty());
}
