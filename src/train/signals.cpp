#include "train/signals.h"

#include <atomic>
#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace refrain::train {
namespace {

// A handler has no other way to find it.
std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not take a lock");
std::atomic<bool> installed{false};

extern "C" void remember_signal(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
}

void install(int signal, struct sigaction* old) {
  struct sigaction action {};
  action.sa_handler = remember_signal;
  // After the first one the default action is back, which a second one of its kind then takes.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  if (::sigaction(signal, &action, old) != 0) {
    throw Error("cannot catch signal {}: {}", signal, std::generic_category().message(errno));
  }
}

}  // namespace

StopSignals::StopSignals() {
  RC_CHECK(!installed.exchange(true));
  install(SIGINT, &old_interrupt_);
  install(SIGTERM, &old_terminate_);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGTERM, &old_terminate_, nullptr);
  ::sigaction(SIGINT, &old_interrupt_, nullptr);
  first_signal = 0;
  installed = false;
}

int StopSignals::received() const { return first_signal.load(); }

}  // namespace refrain::train
