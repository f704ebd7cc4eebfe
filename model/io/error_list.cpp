#include "model/io/error_list.h"

#include <algorithm>

#include "model/errors.h"

namespace stepsight {

std::string locate(const std::string& file, Position at, const std::string& message) {
  if (at.line == 0) return file + ": " + message;
  return file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + message;
}

void ErrorList::add(Position at, std::string message) {
  if (!full()) errors_.emplace(at, std::move(message));
}

void ErrorList::add_finished(std::string message) {
  if (full() || std::find(finished_.begin(), finished_.end(), message) != finished_.end()) return;
  finished_.push_back(std::move(message));
}

void ErrorList::throw_if_any() const {
  if (empty()) return;
  std::string text;
  for (const auto& [at, message] : errors_) text += locate(file_, at, message) + "\n";
  for (const std::string& message : finished_) text += message + "\n";
  if (full())
    text += "(there may be more: only the first " + std::to_string(most) + " are shown)\n";
  text.pop_back();
  throw UserError(text);
}

}  // namespace stepsight
