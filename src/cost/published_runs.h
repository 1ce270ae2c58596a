// Published runs, for tests: models and settings whose step times, or costs of recompute, are
// known.
#pragma once

#include <string>

#include "cost/device/device_profile.h"
#include "mcore/run.h"

namespace refrain::cost {

/// A built-in device.
DeviceProfile device(const std::string& name);

/// Llama 3 70B, SFT on 32 H100, fp8 with current scaling, TP 4, PP 4 in 5 chunks, 32 sequences of
/// 4096, nothing recomputed (Megatron-Bridge, skills/nemo-mbridge-perf-activation-recompute).
mcore::Run llama3_70b();

/// Moonlight 16B-A3B on 8 H100, bf16, TP 2, EP 8, 4 sequences of 4096 (same source).
mcore::Run moonlight();

/// Qwen3 30B-A3B on 16 H100, bf16, EP 16 by alltoall, 1024 sequences of 4096 (Megatron-Bridge,
/// skills/nemo-mbridge-perf-moe-comm-overlap).
mcore::Run qwen3_30b();

/// DeepSeek V3 on 256 GB300, MXFP8, PP 2 in 8 chunks, EP 32, 4096 sequences of 4096, one graph an
/// iteration, expert overlap (Megatron-Bridge, docs/performance-summary.md).
mcore::Run deepseek_v3();

/// DeepSeek V3 on 256 GB200 without graphs, PP 8 in 4 chunks, DeepEP, recomputing mlp and
/// mla_up_proj (Megatron-LM, docs/discussions/deepseek-v3-gb200-optimization).
mcore::Run deepseek_v3_early();

/// The GPT models of arXiv:2205.05198, table 3, on A100: "22B", "175B", "530B", "1T". Sequence
/// parallelism and selective recompute of core_attn.
mcore::Run gpt_2205(const std::string& size);

/// GPT-OSS 20B and Qwen3-Next 80B-A3B, bf16, on 16 and 32 H100.
mcore::Run gpt_oss_20b();
mcore::Run qwen3_next();

/// Nemotron 3.5 Lightning, a hybrid of Mamba, attention and experts with two prediction depths, on
/// 8 GPUs.
mcore::Run nemotron();

/// The same run with these labels recomputed; none: nothing is.
mcore::Run with_labels(mcore::Run run, std::set<std::string> labels);
mcore::Run with_full(mcore::Run run);

}  // namespace refrain::cost
