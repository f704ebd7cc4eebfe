// Compiled, never linked or run (cmake/StepsightCompileTests.cmake): once as it stands, and once
// for each line that mixes units and must be refused.
#include "model/units.h"

namespace stepsight {

constexpr Seconds time{1};
constexpr Bytes size{1};

constexpr BytesPerSecond rate = size / time;
constexpr Bytes back = rate * time;
constexpr double ratio = (time + time) / time;
static_assert(back == size && ratio == 2.0);

#ifndef STEPSIGHT_MUST_NOT_COMPILE
#elif STEPSIGHT_MUST_NOT_COMPILE == 1
constexpr auto wrong = time + size;
#elif STEPSIGHT_MUST_NOT_COMPILE == 2
constexpr bool wrong = time < size;
#elif STEPSIGHT_MUST_NOT_COMPILE == 3
constexpr Seconds wrong = 1.0;  // a bare number has no unit
#elif STEPSIGHT_MUST_NOT_COMPILE == 4
constexpr Seconds wrong = rate / size;  // 1/s is not s
#else
#error "there is no such case"
#endif

}  // namespace stepsight
