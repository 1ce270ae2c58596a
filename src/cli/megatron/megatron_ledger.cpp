#include "cli/megatron/megatron_ledger.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/megatron/megatron_options.h"
#include "cli/megatron/rank_view.h"
#include "cli/spine.h"
#include "plan/megatron/prediction.h"
#include "plan/megatron/settings.h"

namespace refrain::cli {
namespace {

using plan::RankBytes;

std::string both(Bytes bytes) {
  return fmt::format("{} GiB ({} bytes)", gib(bytes), bytes.count());
}

void add_nodes(const std::vector<allocator::PostingNode>& nodes, size_t depth, Bytes peak,
               TextTable& table) {
  for (const allocator::PostingNode& node : nodes) {
    const double share =
        100 * static_cast<double>(node.blocks.count()) / static_cast<double>(peak.count());
    table.add_row({std::string(2 * depth, ' ') + node.name, gib(node.blocks),
                   fmt::format("{}", node.blocks.count()), fmt::format("{}", node.num_blocks),
                   fmt::format("{:.1f} %", share)});
    add_nodes(node.parts, depth + 1, peak, table);
  }
}

std::string accounts_table(const RankBytes& rank) {
  TextTable table({{"account"},
                   {"GiB", Align::kRight},
                   {"bytes", Align::kRight},
                   {"blocks", Align::kRight},
                   {"share", Align::kRight}});
  add_nodes(rank.accounts, 0, rank.allocated, table);
  table.add_row(
      {"total", gib(rank.allocated), fmt::format("{}", rank.allocated.count()), "", "100.0 %"});
  return table.to_text();
}

std::string to_text(const MegatronLedgerOptions& options, const std::vector<RankBytes>& ranks) {
  std::string text =
      headline(options) + fmt::format("recompute {}\n", plan::to_text(options.run.recompute));
  for (const RankBytes& rank : ranks) {
    text += fmt::format(
        "\nrank {}, {} layers: {}\npeak {} in {}\nat most {}\nreserved {}\n"
        "after a step {}\n\n{}",
        rank.rank, layers_of_rank(options.run, rank.rank), plan::to_text(rank.verdict),
        both(rank.allocated), rank.phase, both(rank.upper), both(rank.reserved), both(rank.at_rest),
        accounts_table(rank));
  }
  return text;
}

std::string to_json(const MegatronLedgerOptions& options, const std::vector<RankBytes>& ranks) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const RankBytes& rank : ranks) list.push_back(rank_json(rank));
  const ordered_json object = {{"model", options.model},
                               {"hardware", options.device.name},
                               {"budget_bytes", options.bytes_allowed().count()},
                               {"setting", plan::to_text(options.run.recompute)},
                               {"ranks", std::move(list)}};
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int megatron_ledger(const std::vector<std::string>& arguments) {
  Parsed<MegatronLedgerOptions> parsed = parse_megatron_ledger(arguments);
  if (const auto code = answer(parsed)) return *code;
  MegatronLedgerOptions& options = *parsed.options.value;
  tell(parsed.options.findings);
  options.run.recompute = options.setting.value_or(mcore::Recompute{});
  const Bytes budget = options.bytes_allowed();
  const std::vector<RankBytes> ranks =
      options.rank ? std::vector{plan::predict_rank(options.run, *options.rank, budget)}
                   : plan::predict(options.run, options.device, budget).ranks;
  print(options.json ? to_json(options, ranks) : to_text(options, ranks));
  return kExitOk;
}

}  // namespace refrain::cli
