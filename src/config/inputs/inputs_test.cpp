#include "config/inputs/inputs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/inputs/testing/outcome.h"
#include "config/inputs/testing/temp_file.h"

namespace refrain::config {
namespace {

TEST(ReadWords, FilesComeFirstAndInTheirOrder) {
  const TempFile one("one.yaml", "a: 1\nb: 1\n");
  const TempFile two("two.json", R"({"b": 2})");
  EXPECT_EQ(outcome(read_words({one.path(), two.path(), "--b", "3", "b=4"})),
            "a=1 b=1 b=2 b=3 b=4");
  EXPECT_EQ(outcome(read_words({two.path(), one.path()})), "b=2 a=1 b=1");
}

TEST(ReadWords, AFileNeedsNoEndingIfItExistsAndNoExistenceForItsEnding) {
  const TempFile file("plain", "a: 1\n");
  EXPECT_EQ(outcome(read_words({file.path()})), "a=1");
  EXPECT_THROW(read_words({"not_there.yaml"}), Error);
  EXPECT_THROW(read_words({"not_there.json"}), Error);
  EXPECT_EQ(outcome(read_words({"not_there"})), "!flag.unexpected-word");
  EXPECT_EQ(outcome(read_words({"file=x.yaml"})), "file=x.yaml");
}

TEST(ReadWords, AFileWhosePathHasAnEqualsSignIsAFile) {
  const TempFile file("lr=3.yaml", "a: 1\n");
  EXPECT_EQ(outcome(read_words({file.path()})), "a=1");
}

TEST(ReadWords, AFileAfterFlagsIsAWordOfTheirs) {
  const TempFile file("late.yaml", "a: 1\n");
  EXPECT_EQ(outcome(read_words({"-tp", "2", file.path()})), "!flag.unexpected-word");
  EXPECT_EQ(outcome(read_words({"--foo", "x.yaml"})), "foo=x.yaml");
}

TEST(ReadWords, FindingsOfAllOfThemAreToldAtOnce) {
  const TempFile one("bad.yaml", "- a\n");
  const TempFile two("bad.json", "{");
  EXPECT_EQ(outcome(read_words({one.path(), two.path(), "word", "=1"})),
            "!file.not-a-map file.malformed flag.unexpected-word override.empty-key");
}

TEST(ReadWords, TheRevisionHoldsForFlagsAndFiles) {
  const TempFile file("flags.yaml", "MODEL_ARGS:\n  --recompute_modules: mlp\n");
  EXPECT_EQ(outcome(read_words({file.path(), "-ol", "0"}, {.harness = HarnessRevision::kV0_2})),
            "recompute_modules=[mlp] cpu_offloading=true cpu_offloading_weights=false "
            "cpu_offloading_num_layers=0");
  EXPECT_EQ(outcome(read_words({file.path(), "-ol", "0"})),
            "recompute_modules=[mlp] recompute_granularity=selective");
}

TEST(ReadWords, NothingIsNothing) { EXPECT_EQ(outcome(read_words({})), ""); }

}  // namespace
}  // namespace refrain::config
