#include "calibrate/measure/rendezvous.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/errors.h"

namespace stepsight::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t hello_magic = 0x53544550;  // "STEP": a stray connection is not a rank

struct Hello {
  std::uint32_t magic;
  std::int32_t rank;
  std::int32_t world;
};

[[noreturn]] void fail(const std::string& what) {
  throw UserError("rendezvous: " + what);
}

void send_all(int socket, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) fail("another rank has gone");
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void receive_all(int socket, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t received = ::recv(socket, at, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) fail("another rank has gone");
    at += received;
    bytes -= static_cast<std::size_t>(received);
  }
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int listen_on(int port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) fail("no socket");
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 1024) != 0) {
    const std::string reason = std::strerror(errno);
    ::close(listener);
    fail("cannot listen on port " + std::to_string(port) + " (" + reason +
         "); set MASTER_PORT to a free one");
  }
  return listener;
}

std::string own_host() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

void write_place(int listener, const std::string& file) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const std::string temporary = file + ".tmp";
  std::ofstream(temporary) << own_host() << ' ' << ntohs(address.sin_port) << '\n';
  if (std::rename(temporary.c_str(), file.c_str()) != 0) fail("cannot write " + file);
}

// One attempt; nullopt when nobody listens there yet.
std::optional<int> try_connect(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  // The name of this very machine need not resolve, in a container for one.
  const std::string place = host == own_host() ? "127.0.0.1" : host;
  if (::getaddrinfo(place.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return std::nullopt;
  }
  const int socket = ::socket(found->ai_family, found->ai_socktype, 0);
  const bool connected = socket >= 0 && ::connect(socket, found->ai_addr, found->ai_addrlen) == 0;
  ::freeaddrinfo(found);
  if (connected) return socket;
  if (socket >= 0) ::close(socket);
  return std::nullopt;
}

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Rendezvous::Rendezvous(const RankInfo& ranks, const std::string& file, double patience_s)
    : ranks_(ranks) {
  if (ranks.world == 1) return;
  if (file.empty() && ranks.address.empty()) {
    fail(
        "nothing says where rank 0 is; set MASTER_ADDR, or give --rendezvous a file that all "
        "ranks see");
  }
  try {
    if (ranks.rank == 0) {
      const int listener = listen_on(file.empty() ? ranks.port : 0);
      try {
        if (!file.empty()) write_place(listener, file);
        accept_all(listener, patience_s);
      } catch (...) {
        ::close(listener);
        throw;
      }
      ::close(listener);
    } else {
      connect_to_first(file, patience_s);
    }
  } catch (...) {
    for (const int socket : sockets_) ::close(socket);
    throw;
  }
}

Rendezvous::~Rendezvous() {
  for (const int socket : sockets_) {
    if (socket >= 0) ::close(socket);
  }
}

void Rendezvous::accept_all(int listener, double patience_s) {
  sockets_.assign(static_cast<std::size_t>(ranks_.world - 1), -1);
  const Clock::time_point deadline = after(patience_s);
  int missing = ranks_.world - 1;
  while (missing > 0) {
    pollfd waiting{.fd = listener, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 100) <= 0) {
      if (Clock::now() < deadline) continue;
      fail(std::to_string(missing) + " of " + std::to_string(ranks_.world) + " ranks did not come");
    }
    const int socket = ::accept(listener, nullptr, nullptr);
    if (socket < 0) continue;
    send_at_once(socket);
    Hello hello{};
    const ssize_t got = ::recv(socket, &hello, sizeof hello, MSG_WAITALL);
    if (got != static_cast<ssize_t>(sizeof hello) || hello.magic != hello_magic) {
      ::close(socket);
      continue;
    }
    const auto place = static_cast<std::size_t>(hello.rank) - 1;
    if (hello.world != ranks_.world || place >= sockets_.size() || sockets_[place] >= 0) {
      ::close(socket);
      fail("rank " + std::to_string(hello.rank) + " of " + std::to_string(hello.world) +
           " does not belong to this run of " + std::to_string(ranks_.world));
    }
    sockets_[place] = socket;
    --missing;
  }
}

void Rendezvous::connect_to_first(const std::string& file, double patience_s) {
  const Clock::time_point deadline = after(patience_s);
  std::string host = ranks_.address;
  int port = ranks_.port;
  while (true) {
    bool known = file.empty();
    if (!known) known = static_cast<bool>(std::ifstream(file) >> host >> port);
    if (known) {
      if (const auto socket = try_connect(host, port)) {
        sockets_.push_back(*socket);
        send_at_once(*socket);
        const Hello hello{.magic = hello_magic, .rank = ranks_.rank, .world = ranks_.world};
        send_all(*socket, &hello, sizeof hello);
        return;
      }
    }
    if (Clock::now() >= deadline) {
      fail("rank 0 does not answer at " + (known ? host + ":" + std::to_string(port) : file));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string Rendezvous::broadcast(std::string_view from_rank_0) {
  std::string text(from_rank_0);
  std::uint64_t bytes = text.size();
  if (ranks_.rank == 0) {
    for (const int socket : sockets_) {
      send_all(socket, &bytes, sizeof bytes);
      send_all(socket, text.data(), text.size());
    }
    return text;
  }
  constexpr std::uint64_t largest_message = 1U << 20U;
  receive_all(sockets_.front(), &bytes, sizeof bytes);
  if (bytes > largest_message) fail("rank 0 sent nonsense");
  text.resize(bytes);
  receive_all(sockets_.front(), text.data(), text.size());
  return text;
}

std::vector<double> Rendezvous::largest(const std::vector<double>& mine) {
  std::vector<double> result = mine;
  const std::size_t bytes = mine.size() * sizeof(double);
  if (ranks_.rank == 0) {
    std::vector<double> other(mine.size());
    for (const int socket : sockets_) {
      receive_all(socket, other.data(), bytes);
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], other[i]);
    }
    for (const int socket : sockets_) send_all(socket, result.data(), bytes);
  } else {
    send_all(sockets_.front(), mine.data(), bytes);
    receive_all(sockets_.front(), result.data(), bytes);
  }
  return result;
}

}  // namespace stepsight::calibrate
