// Work shared out to threads whose results are handed on in order: the same bytes come out whatever
// the number of threads, and no more results wait than a small window holds.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace stepsight {

// A thread's own worker: makes the text of the items [begin, end).
using ItemsToText = std::function<std::string(std::uint64_t begin, std::uint64_t end)>;

struct OrderedWork {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t chunk = 256;                 // items that one thread takes at a time
  unsigned threads = 1;                      // 0: as many as the machine has
  std::function<ItemsToText()> make_worker;  // called once in each thread
  // In the calling thread, chunk by chunk in order; `done` items of all are finished then.
  std::function<void(const std::string& text, std::uint64_t done)> take;
};

// Throws what a worker threw for the first chunk in order, after everything before it was handed
// on.
void run_in_order(const OrderedWork& work);

}  // namespace stepsight
