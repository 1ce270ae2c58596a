#include "train/signals.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/error.h"

namespace refrain::train {
namespace {

TEST(StopSignals, TheFirstIsRememberedAndTheProcessLives) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const StopSignals stop;
    EXPECT_EQ(stop.received(), 0);
    std::raise(signal);
    EXPECT_EQ(stop.received(), signal);
  }
}

TEST(StopSignals, OneOfTheOtherKindDoesNotTakeItsPlace) {
  const StopSignals stop;
  std::raise(SIGTERM);
  std::raise(SIGINT);
  EXPECT_EQ(stop.received(), SIGTERM);
}

TEST(StopSignalsDeathTest, ASecondOfTheSameKindEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const StopSignals stop;
          std::raise(signal);
          std::raise(signal);
        },
        ::testing::KilledBySignal(signal), "");
  }
}

TEST(StopSignals, WhatWasThereBeforeComesBack) {
  ASSERT_NE(std::signal(SIGINT, SIG_IGN), SIG_ERR);
  {
    const StopSignals stop;
    std::raise(SIGINT);  // caught though it was ignored
    EXPECT_EQ(stop.received(), SIGINT);
  }
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
  EXPECT_EQ(StopSignals().received(), 0);  // forgotten
}

TEST(StopSignals, OnlyOneAtATime) {
  const StopSignals stop;
  EXPECT_THROW(StopSignals(), Bug);
}

TEST(ExitCode, IsTheShells) {
  EXPECT_EQ(exit_code_of(SIGINT), 130);
  EXPECT_EQ(exit_code_of(SIGTERM), 143);
}

}  // namespace
}  // namespace refrain::train
