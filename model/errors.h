// The one exception for what a person can mend: a bad file, flag or combination. It is thrown
// anywhere, caught once in main, printed as it is, and ends the program with exit code 2.
#pragma once
#include <stdexcept>

namespace stepsight {

struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace stepsight
