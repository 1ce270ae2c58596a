// Experts: sizes, dispatchers, shared experts and capacity, in TransformerConfig's order.
#include "config/rules/model/parts.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

/// Not every layer has experts.
bool is_mixed(const LayerFrequency& frequency) {
  if (const auto* every = std::get_if<int64_t>(&frequency)) return *every > 1;
  for (const int64_t has_experts : std::get<std::vector<int64_t>>(frequency)) {
    if (has_experts == 0) return true;
  }
  return false;
}

bool expert_size_without_experts(const Knobs& k) {
  return !k.num_moe_experts && k.moe_ffn_hidden_size;
}

bool balances(const Knobs& k, Dialect dialect) {
  const std::string& type = k.moe_router_load_balancing_type;
  return type == "aux_loss" || type == "seq_aux_loss" || type == "none" ||
         (type == "global_aux_loss" && dialect >= kMcore_0_15_3);
}

Complaint shared_overlap(const Knobs& k, bool flex_will_do) {
  if (!k.moe_shared_expert_intermediate_size || !k.moe_shared_expert_overlap) return {};
  const std::string& type = k.moe_token_dispatcher_type;
  if (type == "alltoall" || (flex_will_do && type == "flex")) return {};
  return fmt::format("moe_shared_expert_overlap needs moe_token_dispatcher_type alltoall{}: {}",
                     flex_will_do ? " or flex" : "", type);
}

std::vector<Remedy> dispatch_all_to_all(const Knobs&, const Context&) {
  return {
      setting("moe_token_dispatcher_type=alltoall", {{"moe_token_dispatcher_type", "alltoall"}}),
      setting("moe_shared_expert_overlap=false", {{"moe_shared_expert_overlap", false}})};
}

constexpr Rule kMoeRules[] = {
    {.id = "moe.expert-parallel-needs-experts",
     .dialects = kEverywhere - DialectSet(kRefrain),
     .outcome = kValueError,
     .because = "Expert parallelism splits experts over ranks.",
     .remedy = "set num_moe_experts, or expert_model_parallel_size=1",
     .knobs = "expert_model_parallel_size num_moe_experts",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.expert_model_parallel_size <= 1 || k.num_moe_experts) return {};
       return fmt::format("expert_model_parallel_size {} needs num_moe_experts: null",
                          k.expert_model_parallel_size);
     }},
    {.id = "moe.no-experts",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "A Mixture of Experts has at least one; a dense model has null.",
     .remedy = "num_moe_experts=null",
     .knobs = "num_moe_experts",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.num_moe_experts || *k.num_moe_experts > 0) return {};
       return fmt::format("num_moe_experts must be 1 or more: {}", *k.num_moe_experts);
     }},
    {.id = "moe.expert-size-alone-old",
     .dialects = DialectSet::range(kMcore_0_13_1, kMcore_0_17_1),
     .outcome = kAssertionError,
     .because = "A dense model has no experts to size.",
     .remedy = "moe_ffn_hidden_size=null, or set num_moe_experts",
     .knobs = "moe_ffn_hidden_size num_moe_experts",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!expert_size_without_experts(k)) return {};
       return fmt::format("moe_ffn_hidden_size needs num_moe_experts: {} and null",
                          *k.moe_ffn_hidden_size);
     }},
    {.id = "moe.expert-size-alone",
     .dialects = DialectSet::range(kMcore_0_18_2, kBridge),
     .outcome = kValueError,
     .because = "A dense model has no experts to size.",
     .remedy = "moe_ffn_hidden_size=null, or set num_moe_experts",
     .knobs = "moe_ffn_hidden_size num_moe_experts moe_layer_freq",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!expert_size_without_experts(k) || is_mixed(k.moe_layer_freq)) return {};
       return fmt::format("moe_ffn_hidden_size needs num_moe_experts: {} and null",
                          *k.moe_ffn_hidden_size);
     }},
    {.id = "moe.expert-size-dropped",
     .dialects = since(kMcore_0_18_2),
     .outcome = kRewrite,
     .because = "A dense layer of a mixed model carries the experts' width without using it.",
     .remedy = "drop moe_ffn_hidden_size",
     .knobs = "moe_ffn_hidden_size num_moe_experts moe_layer_freq",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!expert_size_without_experts(k) || !is_mixed(k.moe_layer_freq)) return {};
       return fmt::format("moe_ffn_hidden_size becomes null without num_moe_experts: it was {}",
                          *k.moe_ffn_hidden_size);
     },
     .rewrite = [](Knobs& k, const Context&) { k.moe_ffn_hidden_size.reset(); }},
    {.id = "moe.deepep-needs-flex",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "DeepEP is a back end of the flex dispatcher.",
     .remedy = "moe_token_dispatcher_type=flex, or moe_enable_deepep=false",
     .knobs = "moe_enable_deepep moe_token_dispatcher_type",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_enable_deepep || k.moe_token_dispatcher_type == "flex") return {};
       return fmt::format("moe_enable_deepep needs moe_token_dispatcher_type flex: {}",
                          k.moe_token_dispatcher_type);
     }},
    {.id = "moe.two-flex-backends",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "The flex dispatcher has one back end.",
     .remedy = "moe_enable_deepep=false",
     .knobs = "moe_enable_deepep moe_flex_dispatcher_backend",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_enable_deepep || k.moe_flex_dispatcher_backend != "hybridep") return {};
       return "moe_enable_deepep excludes moe_flex_dispatcher_backend hybridep";
     }},
    {.id = "moe.deepep-deprecated",
     .dialects = since(kMcore_0_16_1),
     .outcome = kRewrite,
     .because = "The back end has a knob of its own.",
     .remedy = "moe_flex_dispatcher_backend=deepep",
     .knobs = "moe_enable_deepep moe_flex_dispatcher_backend",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_enable_deepep) return {};
       return "moe_flex_dispatcher_backend becomes deepep with moe_enable_deepep, which is "
              "deprecated";
     },
     .rewrite = [](Knobs& k, const Context&) { k.moe_flex_dispatcher_backend = "deepep"; }},
    {.id = "moe.flex-and-padding-old",
     .dialects = until(kMcore_0_15_3),
     .outcome = kValueError,
     .because = "The flex dispatcher of these releases sends no padding.",
     .remedy = "moe_pad_expert_input_to_capacity=false, or moe_token_dispatcher_type=alltoall",
     .knobs = "moe_pad_expert_input_to_capacity moe_token_dispatcher_type",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.moe_token_dispatcher_type != "flex" || !k.moe_pad_expert_input_to_capacity) return {};
       return "moe_pad_expert_input_to_capacity excludes moe_token_dispatcher_type flex";
     }},
    {.id = "moe.deepep-and-padding",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "DeepEP sends no padding.",
     .remedy = "moe_pad_expert_input_to_capacity=false, or another back end",
     .knobs = "moe_pad_expert_input_to_capacity moe_token_dispatcher_type "
              "moe_flex_dispatcher_backend",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.moe_token_dispatcher_type != "flex" || !k.moe_pad_expert_input_to_capacity ||
           k.moe_flex_dispatcher_backend != "deepep") {
         return {};
       }
       return "moe_pad_expert_input_to_capacity excludes the flex dispatcher's deepep back end";
     }},
    {.id = "moe.ncclep-needs-flex",
     .dialects = since(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "ncclep is a back end of the flex dispatcher.",
     .remedy = "moe_token_dispatcher_type=flex, or another back end",
     .knobs = "moe_flex_dispatcher_backend moe_token_dispatcher_type",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.moe_flex_dispatcher_backend != "ncclep" || k.moe_token_dispatcher_type == "flex") {
         return {};
       }
       return fmt::format(
           "moe_flex_dispatcher_backend ncclep needs moe_token_dispatcher_type flex: {}",
           k.moe_token_dispatcher_type);
     }},
    {.id = "moe.shared-expert-size",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "It is the width of all shared experts together; none is null.",
     .remedy = "moe_shared_expert_intermediate_size=null",
     .knobs = "moe_shared_expert_intermediate_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.moe_shared_expert_intermediate_size.value_or(1) > 0) return {};
       return fmt::format("moe_shared_expert_intermediate_size must be 1 or more, or null: {}",
                          *k.moe_shared_expert_intermediate_size);
     }},
    {.id = "moe.shared-overlap-dispatcher-old",
     .dialects = until(kMcore_0_17_1),
     .outcome = kValueError,
     .because = "Shared experts overlap with the all-to-all.",
     .remedy = "moe_token_dispatcher_type=alltoall, or moe_shared_expert_overlap=false",
     .knobs = "moe_shared_expert_overlap moe_token_dispatcher_type",
     .broken = [](const Knobs& k, const Context&) { return shared_overlap(k, false); },
     .remedies = dispatch_all_to_all},
    {.id = "moe.shared-overlap-dispatcher",
     .dialects = since(kMcore_0_18_2),
     .outcome = kValueError,
     .because = "Shared experts overlap with the all-to-all.",
     .remedy = "moe_token_dispatcher_type=alltoall, or moe_shared_expert_overlap=false",
     .knobs = "moe_shared_expert_overlap moe_token_dispatcher_type",
     .broken = [](const Knobs& k, const Context&) { return shared_overlap(k, true); },
     .remedies = dispatch_all_to_all},
    {.id = "moe.negative-capacity",
     .dialects = kEverywhere,
     .outcome = kRewrite,
     .because = "A negative factor has always meant: no capacity.",
     .remedy = "moe_expert_capacity_factor=null says the same",
     .knobs = "moe_expert_capacity_factor",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.moe_expert_capacity_factor.value_or(0) >= 0) return {};
       return fmt::format("moe_expert_capacity_factor becomes null: it was {}",
                          *k.moe_expert_capacity_factor);
     },
     .rewrite = [](Knobs& k, const Context&) { k.moe_expert_capacity_factor.reset(); }},
    {.id = "moe.capacity-and-balancing",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Dropping tokens is built for the auxiliary losses alone.",
     .remedy = "moe_router_load_balancing_type=aux_loss, or no capacity factor",
     .knobs = "moe_expert_capacity_factor moe_router_load_balancing_type",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.moe_expert_capacity_factor || balances(k, s.dialect)) return {};
       return fmt::format(
           "moe_expert_capacity_factor needs an auxiliary loss or none as "
           "moe_router_load_balancing_type: {}",
           k.moe_router_load_balancing_type);
     }},
    {.id = "moe.padding-needs-capacity",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "The capacity factor says how far to pad.",
     .remedy = "moe_expert_capacity_factor=1.0, or moe_pad_expert_input_to_capacity=false",
     .knobs = "moe_pad_expert_input_to_capacity moe_expert_capacity_factor",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_pad_expert_input_to_capacity || k.moe_expert_capacity_factor) return {};
       return "moe_pad_expert_input_to_capacity needs moe_expert_capacity_factor: null";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("moe_expert_capacity_factor=1.0", {{"moe_expert_capacity_factor", 1.0}}),
               setting("moe_pad_expert_input_to_capacity=false",
                       {{"moe_pad_expert_input_to_capacity", false}})};
     }},
    {.id = "moe.rank-capacity-backend",
     .dialects = since(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "A capacity a rank is kept by these back ends alone.",
     .remedy = "moe_flex_dispatcher_backend=hybridep, or no rank capacity",
     .knobs = "moe_expert_rank_capacity_factor moe_flex_dispatcher_backend",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const std::string& backend = k.moe_flex_dispatcher_backend;
       if (!k.moe_expert_rank_capacity_factor || backend == "hybridep" || backend == "ncclep") {
         return {};
       }
       return fmt::format(
           "moe_expert_rank_capacity_factor needs moe_flex_dispatcher_backend hybridep or ncclep: "
           "{}",
           backend);
     }},
    {.id = "moe.rank-capacity-fuser",
     .dialects = since(kMcore_0_18_2),
     .outcome = kValueError,
     .because = "Under hybridep the fused operations read the tokens that really came.",
     .remedy = "use_transformer_engine_op_fuser=true, or no rank capacity",
     .knobs = "moe_expert_rank_capacity_factor use_transformer_engine_op_fuser "
              "moe_flex_dispatcher_backend",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.moe_expert_rank_capacity_factor || k.use_transformer_engine_op_fuser) return {};
       if (s.dialect >= kMcore_0_19_2 && k.moe_flex_dispatcher_backend != "hybridep") return {};
       return "moe_expert_rank_capacity_factor needs use_transformer_engine_op_fuser: it is false";
     }},
    {.id = "moe.rank-capacity-backend-old",
     .dialects = DialectSet(kMcore_0_18_2),
     .outcome = kValueError,
     .because = "A capacity a rank is kept by this back end alone.",
     .remedy = "moe_flex_dispatcher_backend=hybridep, or no rank capacity",
     .knobs = "moe_expert_rank_capacity_factor moe_flex_dispatcher_backend",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_expert_rank_capacity_factor || k.moe_flex_dispatcher_backend == "hybridep") {
         return {};
       }
       return fmt::format(
           "moe_expert_rank_capacity_factor needs moe_flex_dispatcher_backend hybridep: {}",
           k.moe_flex_dispatcher_backend);
     }},
};

}  // namespace

std::span<const Rule> moe_rules() { return kMoeRules; }

}  // namespace refrain::config
