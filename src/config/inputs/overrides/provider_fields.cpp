// Source: the providers under src/megatron/bridge/models of Megatron-Bridge.
#include "config/inputs/overrides/provider_fields.h"

#include <set>
#include <string>

#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr std::string_view kGptFields =
    "fp16_lm_cross_entropy generation_config hf_model_id make_vocab_size_divisible_by "
    "mtp_enabled parallel_output position_embedding_type restore_modelopt_state "
    "scatter_embedding_sequence_parallel seq_len_interpolation_factor "
    "share_embeddings_and_output_weights should_pad_vocab tp_comm_overlap_cfg "
    "transformer_layer_spec use_transformer_engine_full_layer_spec vocab_size";

constexpr std::string_view kOtherFields =
    "add_decoder add_encoder apply_rotary_pos_emb_in_fp32 attention_in_multiplier "
    "attention_k_eq_v attention_out_multiplier attention_value_scale attn_logit_softcapping "
    "audio_config audio_end_token_id audio_start_token_id audio_token_id bos_token_id "
    "classifier_dropout code2wav_config crossattn_emb_size deepstack_visual_indexes "
    "dense_grouped_gemm dynamic_resolution embedding_multiplier encoder_num_layers "
    "encoder_patch_size encoder_pipeline_model_parallel_size eos_token_id falconh1_ratio "
    "falconh1_stack_spec final_logit_softcapping freeze_audio_model freeze_audio_projection "
    "freeze_language_model freeze_modality_encoders freeze_modality_projections "
    "freeze_mtp_model freeze_sound_encoder freeze_sound_projection freeze_vision_model "
    "freeze_vision_projection full_attention_rope_base full_attention_rope_partial_factor "
    "full_attn_num_query_groups global_head_dim global_kv_channels global_rotary_percent "
    "has_sound head_wise_attn_gate heterogeneous_layers_config_encoded_json "
    "heterogeneous_layers_config_path hf_config hf_config_dict hf_model_path "
    "hf_model_revision hf_text_config hybrid_attention_pattern hybrid_attention_ratio "
    "hybrid_layer_pattern hybrid_mlp_ratio hybrid_override_pattern hybrid_stack_spec "
    "ignore_index image_end_token_id image_size image_special_token_id image_start_token_id "
    "image_token_id image_token_index img_end_token_id img_start_token_id in_channels "
    "index_head_dim index_n_heads interleaved_attn_pattern is_vision_language kd_config "
    "keep_mtp_spec_in_bf16 key_multiplier kimi_attn_res_block_size kimi_kda_gate_lower_bound "
    "kimi_kda_layers kimi_linear_conv_kernel_size kimi_linear_head_dim kimi_linear_num_heads "
    "language_config language_max_sequence_length language_model_spec language_model_type "
    "lightning_indexer_layers lm_head_multiplier logit_dtype mamba_chunk_size "
    "mamba_stack_spec max_packing_seqlen max_vision_cuda_graph_seq_length "
    "media_placeholder_token_id mlp_multipliers mm_tokens_per_image modality_keys "
    "modality_submodules_spec mtp_layer_types mtp_sliding_windows multimodal_attn_impl "
    "multimodal_projector_bias num_global_key_value_heads num_global_query_groups "
    "num_kv_shared_layers num_labels num_position_embeddings out_hidden_size pad_token_id "
    "patch_image_size patch_size per_layer_embed_dim per_layer_embed_vocab_size "
    "position_id_per_seconds pretrained_model_name projector_bias projector_hidden_size "
    "qkv_format query_pre_attn_scalar radio_cpe_aspect_ratio_select radio_disable_cpe "
    "radio_force_cpe_eval_mode radio_force_eval_mode radio_interpolate_only_cpe "
    "relative_attention_max_distance relative_attention_num_buckets return_dict rope_scaling "
    "rope_scaling_factor rotary_base_per_layer scale_embeddings_by_hidden_size "
    "seconds_per_chunk separate_video_embedder seq_length_dec seqlen_divisible_by "
    "sliding_window_rope_base sliding_windows sound_config sound_context_token_id "
    "sound_hidden_size sound_model_type sound_projection_hidden_size spatial_merge_size "
    "special_token_ids ssm_in_multiplier ssm_multipliers ssm_out_multiplier "
    "standard_provider swa_num_query_groups swiglu_limits talker_config temporal_ckpt_compat "
    "temporal_patch_dim temporal_patch_size text_config thinker_config token2wav_config "
    "tokenizer_type trust_remote_code understand_projector_stride "
    "use_arbitrary_attention_mask use_double_wide_mlp use_hf_vision_model use_mg_vit "
    "use_vision_backbone_fp8_arch video_end_token_id video_start_token_id video_token_id "
    "vision_class_token_len vision_config vision_cuda_graph_impl vision_cuda_graph_scope "
    "vision_dp_when_cp vision_encoder_module vision_encoder_params vision_end_token_id "
    "vision_model_type vision_proj_ffn_hidden_size vision_projector_config "
    "vision_projector_input_size vision_soft_tokens_per_image vision_start_token_id "
    "vision_token_id vit_gradient_checkpointing yarn_beta_fast yarn_beta_slow "
    "yarn_correction_range_round_to_int yarn_mscale yarn_mscale_all_dim "
    "yarn_original_max_position_embeddings yarn_rotary_scaling_factor";

std::set<std::string, std::less<>> set_of(std::string_view words) {
  std::set<std::string, std::less<>> made;
  for (std::string& word : split(words, ' ')) made.insert(std::move(word));
  return made;
}

}  // namespace

bool is_gpt_field(std::string_view name) {
  static const auto fields = set_of(kGptFields);
  return fields.contains(name);
}

bool is_provider_field(std::string_view name) {
  static const auto fields = set_of(kOtherFields);
  return is_gpt_field(name) || fields.contains(name);
}

}  // namespace refrain::config
