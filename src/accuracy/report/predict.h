// Peak and step time of a measured run, as predicted.
#pragma once

#include "accuracy/report/outcome.h"
#include "accuracy/rows/sample.h"

namespace refrain::accuracy {

/// The same run with fewer micro-batches where there are more than any rank has under way several
/// times over: further ones repeat them, and a replay takes as long as there are.
mcore::Run with_steady_batch(mcore::Run run);

/// Fills in what was measured, what is predicted, and what keeps either from being compared.
Outcome predict(const Sample& sample, Outcome outcome);

}  // namespace refrain::accuracy
