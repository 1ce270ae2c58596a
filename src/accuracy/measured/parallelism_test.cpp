#include "accuracy/measured/parallelism.h"

#include <gtest/gtest.h>

namespace refrain::accuracy {
namespace {

TEST(Parallelism, EverySizeIsReadByItsName) {
  const auto read = parse_parallelism("TP2_CP4_EP32_PP8_VPP3_DP16_EDP1_ETP2");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tensor, 2);
  EXPECT_EQ(read->pipeline, 8);
  EXPECT_EQ(read->virtual_stages, 3);
  EXPECT_EQ(read->context, 4);
  EXPECT_EQ(read->expert, 32);
  EXPECT_EQ(read->expert_tensor, 2);
  EXPECT_EQ(read->data, 16);
  EXPECT_FALSE(read->fsdp);
}

TEST(Parallelism, WhatIsNotSaidIsOne) {
  const auto read = parse_parallelism("TP4_PP8_CP1_VPn/a_EPn/a");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->virtual_stages, 1);
  EXPECT_EQ(read->expert, 1);
  EXPECT_EQ(read->expert_tensor, std::nullopt);
  EXPECT_EQ(parse_parallelism("VP5")->virtual_stages, 5);
  EXPECT_EQ(parse_parallelism("")->tensor, 1);
}

TEST(Parallelism, FlagsAndDispatchersAreWordsToo) {
  EXPECT_TRUE(parse_parallelism("TP1_FSDP64")->fsdp);
  EXPECT_TRUE(parse_parallelism("TP1_FSDP")->fsdp);
  EXPECT_FALSE(parse_parallelism("TP1_FSDP0")->fsdp);
  EXPECT_EQ(parse_parallelism("EP16 alltoall")->expert, 16);
  EXPECT_EQ(parse_parallelism("TP4_EP4_SP")->tensor, 4);
}

TEST(Parallelism, TwoLayoutsOrAnUnknownWordAreNone) {
  EXPECT_FALSE(parse_parallelism("TP1 (2)_PP1 (4)"));
  EXPECT_FALSE(parse_parallelism("enc TP1_DP64 / llm TP2"));
  EXPECT_FALSE(parse_parallelism("XP2"));
  EXPECT_FALSE(parse_parallelism("TP"));
  EXPECT_FALSE(parse_parallelism("TP0"));
  EXPECT_FALSE(parse_parallelism("TP-2"));
  EXPECT_FALSE(parse_parallelism("TP99999999999999999999"));
  EXPECT_FALSE(parse_parallelism("TP4097"));
  EXPECT_TRUE(parse_parallelism("TP4096"));
}

}  // namespace
}  // namespace refrain::accuracy
