#include "model/fit/full_clock.h"

#include <algorithm>

namespace stepsight {

void keep_full_clock(Measurements& m) {
  for (const DtypeInfo& type : dtypes) {
    const auto of_type = [&](const GemmPoint& p) { return p.gemm.dtype == type.dtype; };
    const auto other = [&](const GemmPoint& p) { return of_type(p) && p.clock != SeenClock::full; };
    const auto all = std::count_if(m.gemms.begin(), m.gemms.end(), of_type);
    const auto others = std::count_if(m.gemms.begin(), m.gemms.end(), other);
    if (others == 0 || 2 * others >= all) continue;
    std::erase_if(m.gemms, other);
    m.skipped.push_back(std::to_string(others) + " of " + std::to_string(all) + " " +
                        std::string(type.name) +
                        " products are not used: their clock was lowered or not seen");
  }
}

}  // namespace stepsight
