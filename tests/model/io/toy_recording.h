// Nsight Systems' recordings made up row by row, as the bytes of a SQLite database, for tests that
// know what must come out.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <sqlite3.h>

namespace stepsight {

class ToyRecording {
 public:
  ToyRecording() {
    sqlite3_open(":memory:", &database_);
    run("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)");
    run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, "
        "deviceId "
        "INTEGER NOT NULL, streamId INTEGER NOT NULL, demangledName INTEGER, shortName INTEGER NOT "
        "NULL)");
    run("CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, text TEXT, textId INTEGER, "
        "globalTid INTEGER)");
  }
  ToyRecording(const ToyRecording&) = delete;
  ToyRecording& operator=(const ToyRecording&) = delete;
  ~ToyRecording() { sqlite3_close(database_); }

  void run(const std::string& statement) {
    sqlite3_exec(database_, statement.c_str(), nullptr, nullptr, nullptr);
  }
  // Times in microseconds.
  void kernel(const std::string& name, int start, int end, int device = 0) {
    run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + ns(start) + ", " + ns(end) + ", " +
        std::to_string(device) + ", 7, NULL, " + id_of(name) + ")");
  }
  void mark(const std::string& name, int start, int end) {
    run("INSERT INTO NVTX_EVENTS VALUES (" + ns(start) + ", " + ns(end) + ", '" + name +
        "', NULL, 1)");
  }
  // The same with the name kept apart, as newer versions do.
  void mark_by_id(const std::string& name, int start, int end) {
    run("INSERT INTO NVTX_EVENTS VALUES (" + ns(start) + ", " + ns(end) + ", NULL, " + id_of(name) +
        ", 1)");
  }

  [[nodiscard]] std::string bytes() const {
    sqlite3_int64 size = 0;
    unsigned char* data = sqlite3_serialize(database_, "main", &size, 0);
    std::string out(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    sqlite3_free(data);
    return out;
  }

 private:
  static std::string ns(int us) { return std::to_string(us) + "000"; }
  std::string id_of(const std::string& name) {
    const std::string id = std::to_string(++names_);
    run("INSERT INTO StringIds VALUES (" + id + ", '" + name + "')");
    return id;
  }

  sqlite3* database_ = nullptr;
  int names_ = 0;
};

// Three steps of 100 us: a product from 0 to 40, one from 60 to 80, and NCCL from 30 to 60 and 80
// to 90, so that 20 + 10 us of communication are exposed and 10 us are idle.
inline std::string toy_recording(bool by_id = false) {
  ToyRecording r;
  for (int step = 0; step < 3; ++step) {
    const int at = 100 * step;
    const std::string name = "iteration " + std::to_string(step);
    if (by_id) {
      r.mark_by_id(name, at, at + 100);
    } else {
      r.mark(name, at, at + 100);
    }
    r.kernel("nvjet_tst_64x32", at, at + 40);
    r.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 30, at + 60);
    r.kernel("vectorized_elementwise_kernel", at + 60, at + 80);
    r.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 80, at + 90);
  }
  return r.bytes();
}

}  // namespace stepsight
