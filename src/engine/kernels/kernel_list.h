// Each op kind's kernels, one function a file; kernel_table.cpp gathers them. kHeadLoss has
// head_loss() in kernel.h instead.
#pragma once

#include "engine/kernels/kernel.h"

namespace refrain::engine {

Kernel embedding_kernel(KernelSet set);
Kernel norm_kernel(KernelSet set);
Kernel linear_kernel(KernelSet set);
Kernel rope_kernel(KernelSet set);
Kernel attention_kernel(KernelSet set);
Kernel attention_scores_kernel(KernelSet set);
Kernel softmax_kernel(KernelSet set);
Kernel attention_context_kernel(KernelSet set);
Kernel activation_kernel(KernelSet set);
Kernel add_kernel(KernelSet set);
Kernel dropout_kernel(KernelSet set);

}  // namespace refrain::engine
