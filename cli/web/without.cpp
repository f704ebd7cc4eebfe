// What the page's program does without: built-in files (the page brings what it needs), gzip (they
// come unpacked), threads.
#include <algorithm>

#include "model/errors.h"
#include "model/io/builtin_table.h"
#include "model/io/gunzip.h"
#include "simulate/ordered_workers.h"

namespace stepsight {

std::span<const BuiltinRow> builtin_table() {
  return {};
}

std::string gunzip(const std::string& path,
                   std::string /*raw*/,
                   std::size_t /*max_bytes*/,
                   std::string_view /*what*/) {
  throw UserError(path + ": a page reads no packed files");
}

void run_in_order(const OrderedWork& work) {
  const ItemsToText worker = work.make_worker();
  for (std::uint64_t begin = work.begin; begin < work.end; begin += work.chunk) {
    const std::uint64_t end = std::min(work.end, begin + work.chunk);
    work.take(worker(begin, end), end);
  }
}

}  // namespace stepsight
