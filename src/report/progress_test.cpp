#include "report/progress.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace refrain::report {
namespace {

StepRecord record_of(int64_t step) {
  StepRecord record;
  record.step = step;
  record.loss = 3.14159;
  record.tokens_per_s = 1234.4;
  record.step_ms = 2000;
  record.peaks.measured = Bytes(1536);
  return record;
}

TEST(Progress, PlainLinesHaveNoControlCharactersAndOneLineAStep) {
  std::ostringstream out;
  Progress progress(out, Progress::Style::kLines, {1, 3});
  progress.step(record_of(1));
  progress.step(record_of(2));
  progress.end();
  EXPECT_EQ(out.str(),
            "step 1/3  loss 3.1416  1234 tokens/s  1.50 KiB  00:04 left\n"
            "step 2/3  loss 3.1416  1234 tokens/s  1.50 KiB  00:02 left\n");
}

TEST(Progress, TheBarRedrawsItsLineAndEndsItOnce) {
  std::ostringstream out;
  Progress progress(out, Progress::Style::kBar, {1, 2});
  progress.step(record_of(1));
  progress.step(record_of(2));
  EXPECT_EQ(out.str().find('\n'), std::string::npos);
  progress.end();
  progress.end();
  const std::string text = out.str();
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_NE(text.find("\r\x1b[K[############------------]  step 1/2"), std::string::npos);
  EXPECT_NE(text.find("\r\x1b[K[########################]  step 2/2"), std::string::npos);
}

TEST(Progress, AResumedRunFillsTheBarFromItsFirstStep) {
  std::ostringstream out;
  Progress progress(out, Progress::Style::kBar, {11, 14});
  progress.step(record_of(11));
  EXPECT_NE(out.str().find("[######------------------]  step 11/14"), std::string::npos);
  EXPECT_NE(out.str().find("00:06 left"), std::string::npos);
}

TEST(ProgressBar, StaysWithinItsWidthWhateverItIsTold) {
  EXPECT_EQ(progress_bar(0, 4, 4), "[----]");
  EXPECT_EQ(progress_bar(4, 4, 4), "[####]");
  EXPECT_EQ(progress_bar(9, 4, 4), "[####]");
  EXPECT_EQ(progress_bar(-1, 4, 4), "[----]");
  EXPECT_EQ(progress_bar(0, 0, 4), "[####]");
}

TEST(ClockText, TurnsAtMinutesAndHoursAndNeverOverflows) {
  EXPECT_EQ(clock_text(0), "00:00");
  EXPECT_EQ(clock_text(-5), "00:00");
  EXPECT_EQ(clock_text(0.1), "00:01");
  EXPECT_EQ(clock_text(59), "00:59");
  EXPECT_EQ(clock_text(60), "01:00");
  EXPECT_EQ(clock_text(3599), "59:59");
  EXPECT_EQ(clock_text(3600), "1:00:00");
  EXPECT_EQ(clock_text(359999), "99:59:59");
  EXPECT_EQ(clock_text(360000), "over 99 h");
  EXPECT_EQ(clock_text(std::numeric_limits<double>::quiet_NaN()), "over 99 h");
}

}  // namespace
}  // namespace refrain::report
