#include "train/disk/train_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

using nlohmann::json;

config::ModelConfig small_model() {
  config::ModelConfig model;
  model.name = "small";
  model.num_layers = 2;
  model.hidden = 64;
  return model;
}

TrainState small_state() {
  return {.step = 7,
          .seed = UINT64_MAX,
          .model = config::fields_of(small_model()),
          .settings = {{"lr", "0.1"}, {"caf\xc3\xa9", "\"\\\n"}}};
}

std::map<std::string, FileSum> some_files() { return {{"a", {5, 0x0123456789abcdef}}, {"b", {}}}; }

TEST(CheckResume, TheSameRunGoesOn) {
  TrainState asked = small_state();
  asked.step = 0;
  asked.model["name"] = "the same by another name";
  EXPECT_TRUE(check_resume(small_state(), asked).empty());
}

TEST(CheckResume, AnotherModelIsRefusedWithEveryFieldThatDiffers) {
  TrainState asked = small_state();
  asked.model["hidden"] = "128";
  asked.model.erase("vocab");
  const Findings findings = check_resume(small_state(), asked);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "checkpoint.other-model");
  EXPECT_TRUE(rejects(findings));
  EXPECT_NE(findings[0].message.find("hidden: 64 in the checkpoint, 128 asked for; "
                                     "vocab: 0 in the checkpoint, absent asked for"),
            std::string::npos)
      << findings[0].message;
}

TEST(CheckResume, AnotherSeedIsRefusedAndOtherSettingsAreNoted) {
  TrainState asked = small_state();
  asked.seed = 1;
  EXPECT_EQ(check_resume(small_state(), asked).at(0).rule, "checkpoint.other-seed");
  EXPECT_TRUE(rejects(check_resume(small_state(), asked)));
  asked = small_state();
  asked.settings["lr"] = "0.2";
  EXPECT_EQ(check_resume(small_state(), asked).at(0).rule, "checkpoint.other-settings");
  EXPECT_FALSE(rejects(check_resume(small_state(), asked)));
}

TEST(CheckTensors, NamesWhatIsMissingOtherOrTooMuch) {
  TempFolder folder;
  const std::vector<std::byte> data(64);
  const auto tensor = [&](std::string name, StoredType type, std::vector<int64_t> shape, size_t n) {
    return NamedTensor{std::move(name), type, std::move(shape), std::span(data).first(n)};
  };
  const std::vector<NamedTensor> stored = {tensor("a", StoredType::kF32, {2, 2}, 16),
                                           tensor("b", StoredType::kF32, {4}, 16)};
  write_safetensors(folder / "t", stored, {});
  const SafetensorsFile file(folder / "t");
  EXPECT_TRUE(check_tensors("weights", file, stored).empty());
  const auto message = [&](const std::vector<NamedTensor>& needed) {
    const Findings findings = check_tensors("weights", file, needed);
    return findings.size() == 1 && findings[0].rule == "checkpoint.other-tensors"
               ? findings[0].message
               : "";
  };
  EXPECT_NE(message({stored[0]}).find("1 tensors are not needed"), std::string::npos);
  EXPECT_NE(message({stored[0], stored[1], tensor("c", StoredType::kI64, {}, 0)})
                .find("c I64 [] is missing"),
            std::string::npos);
  EXPECT_NE(message({stored[0], tensor("b", StoredType::kF32, {2, 2}, 0)})
                .find("b F32 [2, 2] is needed, b F32 [4] stored"),
            std::string::npos);
  EXPECT_NE(message({stored[0], tensor("b", StoredType::kI32, {4}, 0)}), "");
}

TEST(State, ComesBackAsItWas) {
  const std::string text = write_state(small_state(), some_files());
  EXPECT_EQ(text, write_state(small_state(), some_files()));
  const auto read = std::get<StoredState>(read_state(text, "state.json"));
  EXPECT_EQ(read.state, small_state());
  EXPECT_EQ(read.files, some_files());
}

TEST(State, NoByteCanChangeUnseen) {
  const std::string text = write_state(small_state(), some_files());
  for (size_t i = 0; i < text.size(); ++i) {
    for (const int change : {1, 4, 32, 128}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      EXPECT_TRUE(std::holds_alternative<Complaint>(read_state(damaged, "s"))) << damaged;
    }
    EXPECT_TRUE(std::holds_alternative<Complaint>(read_state(text.substr(0, i), "s"))) << i;
    const std::string inserted = text.substr(0, i) + " " + text.substr(i);
    EXPECT_TRUE(std::holds_alternative<Complaint>(read_state(inserted, "s"))) << i;
  }
  EXPECT_TRUE(std::holds_alternative<Complaint>(read_state(text + "\n", "s")));
}

/// A document with the checksum that it should have.
std::string sealed(json document) {
  document.erase("checksum");
  document["checksum"] = to_hex(checksum_of(document.dump(2) + "\n"));
  return document.dump(2) + "\n";
}

TEST(State, WholeButOfALaterFormatIsAnError) {
  json document = json::parse(write_state(small_state(), some_files()));
  EXPECT_TRUE(std::holds_alternative<StoredState>(read_state(sealed(document), "s")));
  document["format"] = 2;
  EXPECT_THROW(read_state(sealed(document), "s"), Error);
}

TEST(State, WholeButLackingAFieldIsAComplaint) {
  for (const std::string field : {"step", "seed", "model", "settings", "files"}) {
    json document = json::parse(write_state(small_state(), some_files()));
    document.erase(field);
    EXPECT_TRUE(std::holds_alternative<Complaint>(read_state(sealed(document), "s"))) << field;
    document[field] = json::array({1});
    EXPECT_TRUE(std::holds_alternative<Complaint>(read_state(sealed(document), "s"))) << field;
  }
}

}  // namespace
}  // namespace refrain::train
