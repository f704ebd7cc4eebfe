// What a reader says about bad input, for tests: the text of the UserError, empty when there was
// none. Any other exception is a defect of the reader and passes through.
#pragma once
#include <string>

#include "model/errors.h"

namespace stepsight {

template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace stepsight
