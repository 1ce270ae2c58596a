// What MLATransformerConfig checks once the base class has.
#include "config/rules/model/parts.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr Rule kMlaRules[] = {
    {.id = "mla.fused-rope",
     .dialects = since(kMcore_0_13_1),
     .outcome = kValueError,
     .because = "MLA's fused kernel is YaRN's.",
     .remedy = "apply_rope_fusion=false, or rope_type=yarn",
     .knobs = "apply_rope_fusion rope_type multi_latent_attention",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.multi_latent_attention || !k.apply_rope_fusion || k.rope_type == "yarn") return {};
       return fmt::format("apply_rope_fusion with MLA needs rope_type yarn: {}", k.rope_type);
     }},
    {.id = "mla.output-gate",
     .dialects = since(kMcore_0_16_1),
     .outcome = kNotImplementedError,
     .because = "MLA has no gate yet.",
     .remedy = "attention_output_gate=false",
     .knobs = "attention_output_gate multi_latent_attention",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.multi_latent_attention || !k.attention_output_gate) return {};
       return "multi_latent_attention excludes attention_output_gate: both are true";
     }},
    {.id = "mla.cached-latents",
     .dialects = since(kMcore_0_14_0),
     .outcome = kAssertionError,
     .because = "Cached latents are rotated later.",
     .remedy = "apply_rope_fusion=false",
     .knobs = "cache_mla_latents apply_rope_fusion multi_latent_attention",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.multi_latent_attention || !k.cache_mla_latents || !k.apply_rope_fusion) return {};
       return "cache_mla_latents excludes apply_rope_fusion: both are true";
     }},
};

}  // namespace

std::span<const Rule> mla_rules() { return kMlaRules; }

}  // namespace refrain::config
