// Refrain's side of the race: commands as JSON lines on stdin, answers as JSON lines on stdout.
//
//   refrain-step-server --model bench-s --seq 512 --micro-batch 4 --threads 2
//
//   {"cmd": "hello"}                     what this is: version, threads, tokens a step, model
//   {"cmd": "dump", "dir": DIR}          writes weights and batch, for the peer to start from
//   {"cmd": "step", LANE}                one training step: ms, loss, bytes
//   {"cmd": "gradients", "dir": DIR, LANE}  compares a step's gradients with the peer's in DIR
//   {"cmd": "profile", "rounds": N, LANE}   time by kind of step and op
//
// LANE is "setting" ("none", "selective:mlp", ...), "replay" and "attention"; those left out are
// none, demand and fused. A command that fails is answered {"error": ...} and changes nothing.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/version.h"
#include "exchange.h"
#include "lanes.h"

namespace {

using namespace refrain;
using bench::Lanes;
using nlohmann::json;

/// The enumerator whose text is `text`.
template <class Enum>
Enum one_of(const std::string& text, std::initializer_list<Enum> choices) {
  for (Enum choice : choices) {
    if (to_text(choice) == text) return choice;
  }
  throw Error("'{}' is none of the choices", text);
}

train::Contender contender_of(const json& command) {
  const auto setting = config::parse_recompute(command.value("setting", "none"));
  if (!setting.value) throw Error("{}", to_text(setting.findings));
  return {
      .setting = *setting.value,
      .replay = one_of(command.value("replay", "demand"),
                       {config::ReplayPolicy::kDemand, config::ReplayPolicy::kRegion}),
      .attention = one_of(command.value("attention", "fused"),
                          {config::AttentionBackend::kFused, config::AttentionBackend::kUnfused}),
      .name = command.value("by", "")};
}

int64_t most_saved_bytes(const ledger::Timeline& timeline) {
  Bytes most;
  for (const ledger::Entry& entry : timeline.entries) {
    most = std::max(most, entry.after[static_cast<size_t>(program::Account::kSavedActivations)]);
  }
  return most.count();
}

json hello(Lanes& lanes, const json&) {
  return {{"program", fmt::format("Refrain {} on LibTorch {}", version(), TORCH_VERSION)},
          {"threads", at::get_num_threads()},
          {"tokens", lanes.tokens().size()},
          {"model",
           {{"layers", lanes.config().num_layers},
            {"hidden", lanes.config().hidden},
            {"heads", lanes.config().num_heads},
            {"kv-heads", lanes.config().num_kv_heads},
            {"ffn", lanes.config().ffn_hidden},
            {"vocab", lanes.config().vocab}}}};
}

json dump(Lanes& lanes, const json& command) {
  bench::dump(lanes, command.at("dir").get<std::string>());
  return json::object();
}

json step(Lanes& lanes, const json& command) {
  const train::Contender contender = contender_of(command);
  const ledger::Timeline& timeline = lanes.prepared(contender).timeline;
  const auto start = std::chrono::steady_clock::now();
  const engine::StepResult result = lanes.step(contender);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return {{"ms", took.count()},
          {"loss", result.loss},
          {"peak_bytes", result.peak.count()},
          {"ledger_bytes", timeline.peak.count()},
          {"saved_bytes", most_saved_bytes(timeline)}};
}

json gradients(Lanes& lanes, const json& command) {
  const engine::StepResult result = lanes.gradients(contender_of(command));
  const auto differences = bench::compare_gradients(lanes, command.at("dir").get<std::string>());
  json errors = json::object();
  for (const bench::Difference& d : differences) errors[d.name] = d.error;
  return {{"loss", result.loss},
          {"grad_hash", fmt::format("{:016x}", *result.grad_hash)},
          {"worst", differences.front().name},
          {"worst_error", differences.front().error},
          {"errors", errors}};
}

json profile(Lanes& lanes, const json& command) {
  json rows = json::array();
  for (const bench::OpTime& time : lanes.profile(contender_of(command), command.at("rounds"))) {
    rows.push_back({{"step", time.step},
                    {"op", time.op},
                    {"count", time.count},
                    {"ms", time.ms},
                    {"gigaflops", time.gigaflops}});
  }
  return {{"ops", rows}};
}

constexpr struct {
  std::string_view name;
  json (*answer)(Lanes&, const json&);
} kCommands[] = {{"hello", hello},
                 {"dump", dump},
                 {"step", step},
                 {"gradients", gradients},
                 {"profile", profile}};

json answer(Lanes& lanes, const std::string& line) {
  const json command = json::parse(line);
  for (const auto& row : kCommands) {
    if (row.name == command.at("cmd").get<std::string>()) return row.answer(lanes, command);
  }
  throw Error("no command '{}'", command.at("cmd").get<std::string>());
}

void serve(Lanes& lanes) {
  for (std::string line; std::getline(std::cin, line);) {
    json reply;
    try {
      reply = answer(lanes, line);
    } catch (const std::exception& failure) {
      reply = {{"error", failure.what()}};
    }
    std::cout << reply.dump() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string model_name = "bench-s";
  config::RunShape shape = {.micro_batch = 4, .seq = 512, .threads = 2};
  CLI::App app("One side of the race that bench/run.py runs");
  app.add_option("--model", model_name, "a name that `refrain models` lists");
  app.add_option("--seq", shape.seq, "tokens of a sequence");
  app.add_option("--micro-batch", shape.micro_batch, "sequences of a step");
  app.add_option("--threads", shape.threads, "threads of the kernels");
  CLI11_PARSE(app, argc, argv);

  const Checked<config::ModelConfig> model = config::find_model(model_name);
  Findings findings = model.findings;
  if (model.value) findings = config::validate(*model.value, shape);
  if (rejects(findings)) {
    std::cerr << to_text(findings);
    return 2;
  }
  Lanes lanes(*model.value, shape);
  serve(lanes);
}
