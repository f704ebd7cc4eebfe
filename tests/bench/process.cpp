#include "tests/bench/process.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stepsight::bench {

namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

[[noreturn]] void become(const std::vector<std::string>& words, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
  execv(arguments.front(), arguments.data());
  _exit(127);
}

}  // namespace

Process run_process(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) become(words, ends[1]);
  close(ends[1]);
  Process out;
  std::array<char, 1 << 16> buffer{};
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    out.output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.cpu_s = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  out.peak_bytes = 1024.0 * static_cast<double>(used.ru_maxrss);
  out.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return out;
}

Folder::Folder() {
  std::string name = std::filesystem::temp_directory_path() / "stepsight_bench_XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder in " + name);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::file(const std::string& name, const std::string& text) const {
  std::ofstream(path(name)) << text;
  return path(name);
}

}  // namespace stepsight::bench
