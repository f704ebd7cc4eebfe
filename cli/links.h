// Links by name, each looked up once: a measured one is two files, and a table of runs names few.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "model/io/link_file.h"

namespace stepsight {

class Links {
 public:
  // What find_link() says of a name without a topology of the machine's own.
  std::shared_ptr<const LinkFacts> get(const std::string& name) {
    auto& kept = links_[name];
    if (!kept) kept = find_link(name, "");
    return kept;
  }

 private:
  std::map<std::string, std::shared_ptr<const LinkFacts>> links_;
};

}  // namespace stepsight
