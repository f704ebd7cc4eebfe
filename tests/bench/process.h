// Another program run from its start to its end, and what the system says it took.
#pragma once
#include <string>
#include <vector>

namespace stepsight::bench {

struct Process {
  bool succeeded = false;
  double seconds = 0;     // on the clock
  double cpu_s = 0;       // of all its threads
  double peak_bytes = 0;  // resident, at most
  std::string output;     // what it wrote to standard output
};

// words[0] is the program. Standard error goes nowhere.
Process run_process(const std::vector<std::string>& words);

// A folder of this process's own, gone when it ends.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // Writes the file; its path.
  std::string file(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace stepsight::bench
