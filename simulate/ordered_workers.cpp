#include "simulate/ordered_workers.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stepsight {

namespace {

// A chunk's place in the window.
struct Slot {
  bool full = false;
  std::string text;
  std::exception_ptr error;
};

class Window {
 public:
  Window(std::uint64_t chunks, std::size_t size) : chunks_(chunks), slots_(size) {}

  // The next chunk to work on; `chunks` when there is none. Waits while the window is full.
  std::uint64_t next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [&] { return stopped_ || next_ == chunks_ || next_ < taken_ + slots_.size(); });
    return stopped_ || next_ == chunks_ ? chunks_ : next_++;
  }

  void put(std::uint64_t chunk, std::string text, std::exception_ptr error) {
    {
      const std::scoped_lock lock(mutex_);
      slots_[chunk % slots_.size()] = {true, std::move(text), std::move(error)};
    }
    changed_.notify_all();
  }

  // The chunk that comes next in order.
  std::string take() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return slot.full; });
    if (slot.error) std::rethrow_exception(slot.error);
    std::string text = std::move(slot.text);
    slot = {};
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    return text;
  }

  // Nobody takes a further chunk.
  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t chunks_;
  std::vector<Slot> slots_;
  std::uint64_t next_ = 0;   // chunk
  std::uint64_t taken_ = 0;  // chunks
  bool stopped_ = false;
};

}  // namespace

void run_in_order(const OrderedWork& work) {
  if (work.end <= work.begin) return;
  const std::uint64_t chunks = (work.end - work.begin + work.chunk - 1) / work.chunk;
  const unsigned threads =
      work.threads > 0 ? work.threads : std::max(1U, std::thread::hardware_concurrency());
  Window window(chunks, std::size_t{4} * threads);
  const auto first = [&](std::uint64_t chunk) { return work.begin + chunk * work.chunk; };
  struct Stop {
    Window& window;
    ~Stop() { window.stop(); }
  };
  std::vector<std::jthread> pool;
  const Stop stop{window};  // before the threads are joined, also when take() throws
  const auto loop = [&] {
    ItemsToText worker;
    std::exception_ptr broken;
    try {
      worker = work.make_worker();
    } catch (...) {
      broken = std::current_exception();
    }
    for (std::uint64_t c = window.next(); c != chunks; c = window.next()) {
      std::string text;
      std::exception_ptr error = broken;
      try {
        if (!broken) text = worker(first(c), std::min(work.end, first(c + 1)));
      } catch (...) {
        error = std::current_exception();
      }
      window.put(c, std::move(text), error);
    }
  };
  for (unsigned i = 0; i < threads; ++i) pool.emplace_back(loop);
  for (std::uint64_t c = 0; c < chunks; ++c) {
    work.take(window.take(), std::min(work.end, first(c + 1)) - work.begin);
  }
}

}  // namespace stepsight
