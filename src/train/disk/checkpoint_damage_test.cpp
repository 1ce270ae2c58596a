// Damage to any byte of any file of the newest checkpoint is found and named, and the one before
// it loads.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "base/error.h"
#include "train/disk/checkpoint.h"
#include "train/disk/sample_checkpoint.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFiles[] = {"weights.safetensors", "optimizer.safetensors",
                                       "state.json"};

class CheckpointDamage : public ::testing::Test {
 protected:
  CheckpointDamage() {
    CheckpointFolder checkpoints(folder_.path());
    for (const int64_t step : {10, 20}) checkpoints.save(SampleCheckpoint(step).view());
  }

  fs::path newest(std::string_view file) const { return folder_ / "step-00000020" / file; }

  /// Step 10 loads whole, and one note names the damaged file.
  void expect_fallback(std::string_view file) {
    const auto loaded = CheckpointFolder(folder_.path()).load();
    ASSERT_TRUE(loaded.value) << to_text(loaded.findings);
    EXPECT_TRUE(SampleCheckpoint(10).equals(*loaded.value));
    ASSERT_EQ(loaded.findings.size(), 1u);
    EXPECT_EQ(loaded.findings[0].rule, "checkpoint.damaged");
    EXPECT_EQ(loaded.findings[0].severity, Severity::kNote);
    EXPECT_NE(loaded.findings[0].message.find(newest(file).string()), std::string::npos)
        << loaded.findings[0].message;
  }

  TempFolder folder_;
};

TEST_F(CheckpointDamage, AnyByteIsFound) {
  std::mt19937 random(3);
  for (const std::string_view file : kFiles) {
    const std::string whole = read_file(newest(file));
    for (int round = 0; round < 200; ++round) {
      std::string damaged = whole;
      char& byte = damaged[random() % damaged.size()];
      byte = static_cast<char>(byte ^ (1 << random() % 8));
      write_file(newest(file), damaged);
      expect_fallback(file);
    }
    write_file(newest(file), whole);
  }
  EXPECT_TRUE(CheckpointFolder(folder_.path()).load().findings.empty());
}

TEST_F(CheckpointDamage, AnyOtherLengthIsFound) {
  std::mt19937 random(4);
  for (const std::string_view file : kFiles) {
    const std::string whole = read_file(newest(file));
    for (int round = 0; round < 60; ++round) {
      write_file(newest(file), whole.substr(0, round == 0 ? 0 : random() % whole.size()));
      expect_fallback(file);
      write_file(newest(file), whole + std::string(1 + random() % 9, round % 2 ? '\0' : ' '));
      expect_fallback(file);
    }
    write_file(newest(file), whole);
  }
}

TEST_F(CheckpointDamage, AMissingFileIsFound) {
  for (const std::string_view file : kFiles) {
    fs::rename(newest(file), folder_ / "away");
    expect_fallback(file);
    fs::rename(folder_ / "away", newest(file));
  }
}

TEST_F(CheckpointDamage, FilesOfAnotherCheckpointAreFound) {
  for (const std::string_view file : {"weights.safetensors", "optimizer.safetensors"}) {
    const std::string whole = read_file(newest(file));
    write_file(newest(file), read_file(folder_ / "step-00000010" / file));
    expect_fallback(file);
    write_file(newest(file), whole);
  }
}

TEST_F(CheckpointDamage, WhereAllAreDamagedEachIsNamed) {
  write_file(newest("state.json"), "{}");
  write_file(folder_ / "step-00000010/weights.safetensors", "");
  try {
    CheckpointFolder(folder_.path()).load();
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(newest("state.json").string()), std::string::npos) << message;
    EXPECT_NE(message.find("step-00000010/weights.safetensors must have "), std::string::npos)
        << message;
  }
}

TEST_F(CheckpointDamage, AFileThatMayNotBeReadIsAnErrorAndNotPassedOver) {
  if (::geteuid() == 0) {  // root may read everything; a folder in its place may not be read either
    fs::remove(newest("weights.safetensors"));
    fs::create_directory(newest("weights.safetensors"));
  } else {
    ::chmod(newest("weights.safetensors").c_str(), 0);
  }
  EXPECT_THROW(CheckpointFolder(folder_.path()).load(), Error);
}

TEST_F(CheckpointDamage, TheRunGoesOnAndReplacesWhatIsDamaged) {
  write_file(newest("weights.safetensors"), "x");
  CheckpointFolder checkpoints(folder_.path());
  ASSERT_TRUE(checkpoints.load().value);
  EXPECT_TRUE(checkpoints.check_start(10).empty());
  checkpoints.save(SampleCheckpoint(15).view());
  EXPECT_EQ(names_of(folder_.path()),
            (std::vector<std::string>{".lock", "step-00000010", "step-00000015"}));
  const auto loaded = checkpoints.load();
  EXPECT_TRUE(loaded.findings.empty());
  EXPECT_TRUE(SampleCheckpoint(15).equals(loaded.value.value()));
}

TEST_F(CheckpointDamage, ADamagedOneOfTheSameStepGivesWayToTheNewOne) {
  // Killed while step 20 was replaced, then damaged: the old one of step 20 is the newest whole
  // one.
  fs::copy(folder_ / "step-00000020", folder_ / "step-00000020.replaced");
  write_file(newest("weights.safetensors"), "x");
  CheckpointFolder checkpoints(folder_.path());
  EXPECT_TRUE(SampleCheckpoint(20).equals(checkpoints.load().value.value()));
  checkpoints.save(SampleCheckpoint(20).view());
  EXPECT_EQ(names_of(folder_.path()),
            (std::vector<std::string>{".lock", "step-00000010", "step-00000020"}));
  EXPECT_TRUE(checkpoints.load().findings.empty());
}

}  // namespace
}  // namespace refrain::train
