#include "mcore/memory/state/buffer_layout.h"

#include <algorithm>
#include <numeric>

namespace refrain::mcore::memory {
namespace {

constexpr int64_t kStartMultiple = 64, kEndMultiple = 128, kBusMultiple = 1 << 16;

int64_t rounded_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

struct Span {
  int64_t begin = 0, end = 0;
};

/// Fills buckets one after the other.
class Buckets {
 public:
  explicit Buckets(const LayoutRules& rules) : rules_(rules) {
    multiple_ = std::lcm(rules.shards, kEndMultiple);
    if (rules.pad_buckets) multiple_ = std::lcm(multiple_, kBusMultiple);
  }

  void add(const Parameter& parameter) {
    position_ = rounded_up(position_, kStartMultiple);
    if (parameter.shared_embedding) end();
    spans_.push_back({position_, position_ + parameter.elements});
    position_ += parameter.elements;
    const bool full =
        rules_.bucket_elements && position_ - bucket_begin_ >= *rules_.bucket_elements;
    if (full || parameter.shared_embedding) end();
  }

  void end() {
    if (spans_.empty()) return;
    position_ = rounded_up(position_, multiple_);
    own({bucket_begin_, position_});
    bucket_begin_ = position_;
    spans_.clear();
  }

  BufferLayout take() {
    end();
    layout_.elements = position_;
    return std::move(layout_);
  }

 private:
  /// The last rank owns the last of equal parts.
  void own(Span bucket) {
    const int64_t begin = bucket.end - (bucket.end - bucket.begin) / rules_.shards;
    for (const Span& span : spans_) {
      const int64_t elements = span.end - std::max(span.begin, begin);
      if (elements > 0) layout_.shards.push_back(elements);
    }
  }

  LayoutRules rules_;
  int64_t multiple_ = 1;
  int64_t position_ = 0, bucket_begin_ = 0;
  std::vector<Span> spans_;  // of the bucket being filled
  BufferLayout layout_;
};

}  // namespace

BufferLayout lay_out(const std::vector<Parameter>& parameters, const LayoutRules& rules) {
  Buckets buckets(rules);
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    buckets.add(*parameter);
  }
  return buckets.take();
}

int64_t optimizer_shards(const Run& run, bool expert) {
  const Parallel& parallel = run.parallel;
  const int64_t replicas =
      expert ? parallel.num_gpus / (parallel.expert_tensor * parallel.expert * parallel.pipeline)
             : parallel.data * parallel.context;
  return std::max<int64_t>(1, std::max<int64_t>(1, replicas) / run.optimizer.instances);
}

LayoutRules layout_rules(const Run& run, bool expert, bool first_chunk) {
  LayoutRules rules{.shards = optimizer_shards(run, expert),
                    .pad_buckets = run.optimizer.pad_buckets};
  // Only the first chunk has several buckets (core/distributed/distributed_data_parallel.py).
  if (run.optimizer.overlap_grad_reduce && first_chunk) {
    rules.bucket_elements = std::max<int64_t>(40'000'000, 1'000'000 * run.parallel.data);
  }
  return rules;
}

}  // namespace refrain::mcore::memory
