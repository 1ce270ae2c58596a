#include "engine/memory/counting_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/error.h"

namespace refrain::engine {
namespace {

// LibTorch's own alignment; the header in front of a block is padded to it.
constexpr size_t kAlignment = 64;

struct Header {
  uint64_t mark;
  int64_t bytes;
  program::Account account;
};
constexpr uint64_t kMark = 0x7265667261696e21;  // "refrain!"
static_assert(sizeof(Header) <= kAlignment);

struct Counters {
  std::array<std::atomic<int64_t>, program::kNumAccounts> held{};
  std::atomic<int64_t> total{0}, peak{0};
};
Counters counters;  // trivially destroyed: tensors may outlive every other static

thread_local program::Account current_account = program::Account::kScratch;

void count(program::Account account, int64_t bytes) {
  counters.held[static_cast<size_t>(account)].fetch_add(bytes, std::memory_order_relaxed);
  const int64_t now = counters.total.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = counters.peak.load(std::memory_order_relaxed);
  while (now > peak && !counters.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

Header& header_of(void* data) {
  auto& header = *reinterpret_cast<Header*>(static_cast<std::byte*>(data) - kAlignment);
  RC_CHECK(header.mark == kMark, "not a block of the counting allocator");
  return header;
}

void release(void* data) {
  if (data == nullptr) return;
  Header& header = header_of(data);
  count(header.account, -header.bytes);
  header.mark = 0;
  std::free(&header);
}

// GEMMs stride through blocks of megabytes: on pages of 4 KiB they wait for the translation of
// addresses (docs/performance.md says how long). So what the heap grows by is asked to be on huge
// pages, before it is touched; where there are none, nothing changes.
void put_on_huge_pages() {
  static std::atomic<uintptr_t> advised_to{0};
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t top = reinterpret_cast<uintptr_t>(sbrk(0)) & ~(page - 1);
  const uintptr_t from = advised_to.exchange(top, std::memory_order_relaxed);
  if (from == 0 || top <= from) return;  // the first call only learns where the heap ends
  madvise(reinterpret_cast<void*>(from), top - from, MADV_HUGEPAGE);
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    void* block = std::aligned_alloc(kAlignment, (bytes + 2 * kAlignment - 1) & ~(kAlignment - 1));
    put_on_huge_pages();
    if (block == nullptr) {
      throw Error("allocating {} beside {} that are held: the machine has no memory left",
                  to_text(Bytes(static_cast<int64_t>(bytes))), to_text(held()));
    }
    *static_cast<Header*>(block) = {kMark, static_cast<int64_t>(bytes), current_account};
    count(current_account, static_cast<int64_t>(bytes));
    // A simple context (data == context): LibTorch's raw_allocate asserts it.
    void* data = static_cast<std::byte*>(block) + kAlignment;
    return {data, data, &release, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

// Every step frees and asks for the same large blocks. glibc would map and unmap each of them and
// the kernel would clear its pages every time; from one heap that is never trimmed they come warm.
void keep_blocks_warm() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
  put_on_huge_pages();
}

}  // namespace

void install_counting_allocator() {
  static CountingAllocator* const allocator = [] {
    keep_blocks_warm();
    auto* made = new CountingAllocator;  // lives as long as any tensor may
    c10::SetCPUAllocator(made, /*priority=*/1);
    return made;
  }();
  RC_CHECK(c10::GetCPUAllocator() == allocator, "somebody replaced the allocator");
}

AccountScope::AccountScope(program::Account account) : outer_(current_account) {
  current_account = account;
}
AccountScope::~AccountScope() { current_account = outer_; }

void post_to(const at::Tensor& tensor, program::Account account) {
  void* data = tensor.storage().mutable_data();
  if (data == nullptr) return;
  Header& header = header_of(data);
  counters.held[static_cast<size_t>(header.account)] -= header.bytes;
  counters.held[static_cast<size_t>(account)] += header.bytes;
  header.account = account;
}

ledger::Balances held_by_account() {
  ledger::Balances balances;
  for (size_t a = 0; a < balances.size(); ++a) balances[a] = Bytes(counters.held[a]);
  return balances;
}

Bytes held() { return Bytes(counters.total); }
Bytes peak_held() { return Bytes(counters.peak); }
void reset_peak() { counters.peak = counters.total.load(); }

}  // namespace refrain::engine
