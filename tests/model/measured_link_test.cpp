// The shipped links' curves, as predictions use them.
#include <cmath>

#include "model/collective.h"
#include "model/io/link_file.h"
#include "tests/catch2.h"

using namespace stepsight;

TEST_CASE("on every shipped link a longer message takes no less time, and none beats the wire") {
  for (const std::string& name : measured_link_names()) {
    const auto link = read_measured_link(name);
    REQUIRE(link);
    for (const CollectiveCurve& curve : link->curves) {
      INFO(name << " " << info(curve.kind).name << " over " << curve.ranks);
      double before = 0;
      double worst = 0;
      for (double bytes = 1024; bytes < 8e9; bytes *= std::exp2(0.1)) {
        const double time = cost(curve, Bytes{bytes}).time.value;
        worst = std::max(worst, before / time - 1);
        before = time;
      }
      CHECK(worst <= 1e-4);
    }
  }
}
